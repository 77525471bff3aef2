/**
 * The producer of the soak: sends batch after batch until it is told to stop. What the store has acknowledged goes into a
 * file, its ledger; a batch whose answer was lost is sent again, with the same ids.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { PgStore, StoreError, type Job } from "../../src/index.js";
import { jobOf } from "./jobs.js";
import { Random } from "./random.js";

const seed = Number(process.env["SOAK_SEED"]);
const perSecond = Number(process.env["SOAK_RATE"]);
const ledger = process.env["SOAK_LEDGER"]!;
const pool = new pg.Pool({
  connectionString: process.env["SOAK_URL"]!,
  max: 3,
  connectionTimeoutMillis: 5_000,
});
const store = new PgStore(pool, { schema: process.env["SOAK_SCHEMA"]!, callTimeoutMs: 5_000 });
let stopping = false;
process.on("message", () => (stopping = true));
process.on("disconnect", () => process.exit());

/** The order and its jobs are one commit; a second try after a lost answer must not take the order twice. */
async function enqueueOrders(orders: readonly Job[]): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { id } of orders) {
      await tx.client.query(
        "insert into soak_order (job) select $1 where not exists (select from soak_order where job = $1)",
        [id],
      );
    }
    await store.enqueueTx(tx, orders);
  });
}

async function untilAcknowledged(send: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await send();
      return;
    } catch (error) {
      // What the transaction's own statements throw is not the store's.
      if (error instanceof StoreError && !error.retryable && error.code !== "backend") throw error;
      process.send?.("resent");
      await sleep(200);
    }
  }
}

const random = new Random(seed);
for (let n = 0; !stopping;) {
  const size = random.next() < 0.5 ? 1 : random.whole(2, 20);
  const batch = Array.from({ length: size }, () => jobOf(seed, ++n));
  const orders = batch.filter(({ kind }) => kind === "order");
  const others = batch.filter(({ kind }) => kind !== "order");
  if (orders.length > 0) await untilAcknowledged(() => enqueueOrders(orders));
  if (others.length > 0) await untilAcknowledged(() => store.enqueue(others));
  appendFileSync(ledger, batch.map(({ id }) => `${id}\n`).join(""));
  await sleep((1_000 * size) / perSecond);
}
await store.close();
await pool.end();
process.disconnect();
