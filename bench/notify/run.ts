/**
 * What wake-ups cost those who enqueue: 64 connections commit a job each, again and again, while a worker drains them with
 * wake-ups and, in turns, without.
 *
 *   npm run bench:notify [-- --seconds 5 --rounds 3]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { PgStore, Worker } from "../../src/index.js";
import { median, ratio } from "../support/figures.js";
import { benchServer } from "../support/server.js";

const { values: flags } = parseArgs({
  options: { seconds: { type: "string", default: "5" }, rounds: { type: "string", default: "3" } },
});
const seconds = Number(flags.seconds);
const connections = 64;

const server = await benchServer();
const producers = new pg.Pool({ connectionString: server.url, max: connections });
const producer = new PgStore(producers);

interface Figures {
  readonly perSecond: number;
  /** Of the producers' sessions that were looked at, those that waited for the lock by which NOTIFY serialises commits. */
  readonly waiting: number;
  /** That came to a listener, a second. */
  readonly notified: number;
}

async function measure(wakeups: boolean): Promise<Figures> {
  const store = await PgStore.connect(server.url, { listen: wakeups });
  const worker = new Worker(store, { tasks: { bench: () => undefined }, concurrency: 64, wakeups });
  const ear = new pg.Client({ connectionString: server.url });
  await ear.connect();
  let notified = 0;
  ear.on("notification", () => notified++);
  const channel = (await server.pool.query<{ channel: string }>("select headrace.channel() as channel"))
    .rows[0]!.channel;
  await ear.query(`listen ${pg.escapeIdentifier(channel)}`);
  await worker.start();
  await sleep(1_000);
  notified = 0;
  let [enqueued, over, seen, waiting] = [0, false, 0, 0];
  const start = performance.now();
  const sampling = (async () => {
    while (!over) {
      const { rows } = await server.pool.query<{ seen: number; waiting: number }>(
        "select count(*)::int as seen, count(*) filter (where wait_event_type = 'Lock' and wait_event = 'object')::int " +
          "as waiting from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()",
      );
      seen += rows[0]!.seen;
      waiting += rows[0]!.waiting;
      await sleep(50);
    }
  })();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() - start < seconds * 1_000) {
        await producer.enqueue([{ kind: "bench", payload: {} }]);
        enqueued++;
      }
    }),
  );
  const tookMs = performance.now() - start;
  over = true;
  await sampling;
  while ((await store.counts()).byState.available ?? 0) await sleep(100);
  await worker.stop();
  await store.close();
  await ear.end();
  return {
    perSecond: (enqueued / tookMs) * 1_000,
    waiting: waiting / Math.max(1, seen),
    notified: (notified / tookMs) * 1_000,
  };
}

try {
  const runs = { with: [] as Figures[], without: [] as Figures[] };
  for (let round = 0; round < Number(flags.rounds); round++) {
    runs.with.push(await measure(true));
    runs.without.push(await measure(false));
  }
  console.log(
    `PostgreSQL ${server.version}, ${connections} connections, ${flags.rounds} rounds of ${seconds} s`,
  );
  for (const [name, figures] of Object.entries(runs)) {
    const of = (read: (one: Figures) => number): number => median(figures.map(read));
    console.log(
      `${name.padEnd(8)} wake-ups: ${of((one) => one.perSecond).toFixed(0)} jobs/s, ` +
        `${(100 * of((one) => one.waiting)).toFixed(1)} % of busy sessions wait for NOTIFY, ` +
        `${of((one) => one.notified).toFixed(1)} notifications/s`,
    );
  }
  const rates = (figures: readonly Figures[]): number[] => figures.map((one) => one.perSecond);
  console.log(`with / without: ${ratio(rates(runs.with), rates(runs.without))}`);
} finally {
  await producer.close();
  await producers.end();
  await server.close();
}
