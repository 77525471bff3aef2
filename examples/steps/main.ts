/**
 * npm run example:steps [moment,moment]
 *
 * An order in three steps: charge, ship, mail. Its worker is killed (SIGKILL, by itself) between the steps, and another one
 * goes on where it stopped; each step is done exactly once. Moments: "while charging", "charged", "shipped"; at most two,
 * since a job that kills three workers is quarantined.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, PgStore } from "../../src/index.js";
import { openDatabase } from "../lib/database.js";
import { createTables, whatWasDone, type createTasks } from "./order.js";

const deaths = process.argv[2] ?? "charged,shipped";
const database = await openDatabase();
const store = await PgStore.connect(database.url);
await createTables(store);

const order = { id: randomUUID().slice(0, 8), customer: "ada@example.org" };
const client = new Client<ReturnType<typeof createTasks>>(store);
const { id } = await client.enqueue("order", order, { queue: "orders", retention: "1d" });

for (;;) {
  const worker = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
    env: { ...process.env, DATABASE_URL: database.url, DIE: deaths },
  });
  let gone = false;
  const exit = once(worker, "exit").then(() => (gone = true));
  while (!gone && (await store.getJob(id))?.state !== "completed") {
    // Takes the jobs of the dead back, and brings what is due.
    await store.runDuties("main");
    await sleep(100);
  }
  worker.kill("SIGTERM");
  await exit;
  if ((await store.getJob(id))?.state === "completed") break;
}
const job = await store.getJob(id);
console.log(`the order is done, after ${job?.crashAttempt} workers have died of it:`);
for (const what of await whatWasDone(store, order.id)) console.log(`  ${what}`);
await store.close();
await database.close();
