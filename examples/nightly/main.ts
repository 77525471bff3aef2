/**
 * npm run example:nightly
 *
 * A report each night, by the clocks of Berlin. So as not to wait for nights, this moves the time of a schema for tests, hour
 * by hour over the nights in which clocks change, and over a week in which nobody was there. An application calls `install`
 * at its start and has a worker; the rest is done by its duties.
 */
import type { PgStore } from "../../src/index.js";
import { testQueue } from "../../src/testing/index.js";
import { openDatabase } from "../lib/database.js";
import { createTasks, install, schedule } from "./report.js";

const database = await openDatabase();
const tasks = createTasks((): PgStore => queue.store, console.log);
const queue = await testQueue({ url: database.url, tasks });

async function hours(count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) {
    await queue.advance("1h");
    await queue.drain();
  }
}

await queue.setTime("2027-10-29T12:00:00Z");
await install(queue.store);
console.log("on 31 October 2027 clocks go back, and half past two comes twice:");
await hours(72);
console.log("nobody is there all winter:");
await queue.setTime("2028-03-24T12:00:00Z");
await queue.drain();
console.log("on 26 March 2028 clocks go forward, and half past two does not come:");
await hours(72);
console.log("what the schedule has noted:");
for (const { tickMs, ticks, outcome } of (await queue.store.listScheduleEvents(schedule.id)).reverse()) {
  console.log(`  ${new Date(tickMs).toISOString()} ${outcome}${ticks > 1 ? ` (${ticks} ticks)` : ""}`);
}
await queue.close();
await database.close();
