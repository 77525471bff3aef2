// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createTasks, install, schedule } from "../../../examples/nightly/report.js";
import type { PgStore } from "../../../src/index.js";
import { dropTestSchemas, testQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { runExample } from "./support.js";

const nights = suite("example nightly");
const database = await testDatabase({ installed: false });

/** Moves time hour by hour, with duties in between, and answers with the nights whose report was made. */
async function reports(from: string, hours: number): Promise<string[]> {
  const made: string[] = [];
  const tasks = createTasks(
    (): PgStore => queue.store,
    (line) => made.push(/night of (\S+ \S+),/.exec(line)![1]!),
  );
  const queue = await testQueue({ url: database.url, tasks });
  await queue.setTime(from);
  for (let hour = 0; hour < hours; hour++) {
    // Each start of each node installs it again.
    await install(queue.store);
    await queue.drain();
    // Nor does a second look fire it again.
    await queue.runDuties();
    await queue.advance("1h");
  }
  const events = await queue.store.listScheduleEvents(schedule.id);
  assert.is(events.length, made.length);
  assert.ok(events.every(({ outcome, ticks }) => outcome === "enqueued" && ticks === 1));
  await queue.close();
  return made;
}

nights("two nights, over the one in which half past two comes twice: each once", async () => {
  assert.equal(await reports("2027-10-30T12:00:00Z", 48), ["2027-10-31 02:30", "2027-11-01 02:30"]);
});

nights("over the one in which it does not come: not that night", async () => {
  assert.equal(await reports("2028-03-24T12:00:00Z", 72), ["2028-03-25 02:30", "2028-03-27 02:30"]);
});

nights("as a program, on a PostgreSQL of its own: a winter without anybody is one late report", async () => {
  const example = runExample("nightly", undefined);
  try {
    assert.is(await example.ended(), 0, example.output);
    assert.match(
      example.output,
      /winter:\n {2}sales of the night of 2028-03-24 02:30, made at 2028-03-24 13:00\n/,
    );
    assert.is(example.output.match(/sales of the night/g)?.length, 6);
    assert.match(example.output, /skipped \(143 ticks\)/);
  } finally {
    example.child.kill("SIGKILL");
  }
});

nights.after(async () => {
  await dropTestSchemas({ url: database.url });
  await database.close();
});
nights.run();
