// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { gate, type GateClaim } from "../gate/support.js";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";

const changed = suite("ceilings that are changed while jobs run");
const database = await testDatabase();
const { query, sql } = database;
const { admit, ack, reset } = gate(database);
changed.before.each(reset);
changed.after(() => database.close());

const queues = ["a", "b"] as const;
const strategies = ["queue", "queue", "cancel_running", "discard"] as const;

/** Between 0 and 1, the same at every run. */
const chance = (seed: number): number => (Math.imul(seed + 1, 2654435761) >>> 0) / 2 ** 32;

interface Standing {
  readonly queue: string;
  readonly ceiling: number;
  readonly running: number;
}

/** What runs in the fullest partition of each queue that has a ceiling, seen at one instant. */
const standing = async (client: pg.ClientBase | pg.Pool = database.pool): Promise<Standing[]> =>
  (
    await client.query<Standing>(
      sql(
        "select c.queue, c.max_concurrent as ceiling, coalesce(max(r.n), 0)::integer as running " +
          "from :SCHEMA.concurrency_limit c left join (select queue, count(*) as n from :SCHEMA.job " +
          "where state = 'running' group by queue, partition_key) r on r.queue = c.queue group by 1, 2",
      ),
    )
  ).rows;

let made = 0;

/** Jobs in every partition, so that each ceiling is reached; each is its own content, since some are lost often. */
const supply = async (): Promise<void> => {
  const jobs = queues.flatMap((queue) =>
    Array.from({ length: 45 }, (_, n) => {
      return { kind: "work", queue, partition_key: "xyz"[n % 3], fingerprint: `job ${++made}` };
    }),
  );
  await query("select from :SCHEMA.enqueue_many($1)", [JSON.stringify(jobs)]);
};

changed("never let more run than the ceiling that holds, and leak no place", async () => {
  const changes = 20;
  await supply();
  let [change, rounds, finished, admitted, reached] = [0, 0, false, 0, 0];

  /** Makes the next change, and answers when it holds. */
  async function next(): Promise<void> {
    const luck = chance(change);
    const queue = queues[change % 2]!;
    const most = 1 + Math.floor(luck * 5);
    const strategy = strategies[change % strategies.length]!;
    const upsert = (name: string, of: string): Promise<unknown> =>
      query("select :SCHEMA.upsert_concurrency_limit($1, $2, $3, $4)", [name, of, most, strategy]);
    const named = await query<{ name: string; queue: string }>(
      "select name, queue from :SCHEMA.concurrency_limits()",
    );
    const own = named.find((row) => row.queue === queue);
    const other = named.find((row) => row.queue !== queue);
    const drop = (row: { name: string }): Promise<unknown> =>
      query("select :SCHEMA.delete_concurrency_limit($1)", [row.name]);
    switch (change % 6) {
      case 0: // Made, or changed where it is.
      case 3:
        await upsert(own?.name ?? `limit ${change}`, queue);
        break;
      case 1: // Taken from one queue and given to the other.
        if (other) await drop(other);
        await upsert(own?.name ?? other?.name ?? "moved", queue);
        break;
      case 2: // Its row goes from one queue to the other.
        if (own) await drop(own);
        await upsert(other?.name ?? "moved", queue);
        break;
      default: // Deleted, and made again at once.
        if (own) await drop(own);
        if (change % 6 === 5) await upsert(`again ${change}`, queue);
    }
  }

  const work = async (client: pg.Client, index: number): Promise<void> => {
    if (index === 8) {
      for (; change < changes && !finished; change++) {
        await supply();
        await next();
        // What ran before may be more than is let in now; it ends by and by.
        const patience = Date.now() + 60_000;
        while (!finished && (await standing()).some(({ running, ceiling }) => running > ceiling)) {
          assert.ok(Date.now() < patience, "what runs does not come down to the ceiling");
          await sleep(5);
        }
        for (const until = rounds + 24; rounds < until && !finished;) {
          for (const { queue, running, ceiling } of await standing()) {
            assert.ok(running <= ceiling, `change ${change}: ${running} of ${ceiling} run in ${queue}`);
            if (running === ceiling) reached++;
          }
        }
      }
      return;
    }
    if (index === 9) {
      // Holders that died are cleared away meanwhile.
      while (!finished) {
        await client.query(sql("select * from :SCHEMA.reclaim_expired()"));
        await client.query(sql("select * from :SCHEMA.promote_due()"));
        await sleep(20);
      }
      return;
    }
    for (let n = 0; !finished; n++) {
      const luck = chance(1000 + n * 8 + index);
      const options = { client, worker: `w${index}`, queues, capacity: 1 + (n % 9), leaseMs: 400 };
      const { claims } = await admit(options);
      admitted += claims.length;
      rounds++;
      if (luck < 0.1) continue;
      if (luck > 0.5) await sleep(luck * 10);
      const holders = claims.map(({ id, lease_id, fence }) => ({
        job_id: id,
        lease_id,
        fence: Number(fence),
      }));
      if (luck > 0.7 && holders.length > 0)
        await client.query(sql("select :SCHEMA.renew($1, 400)"), [JSON.stringify(holders.slice(0, 2))]);
      const [some, rest]: [GateClaim[], GateClaim[]] = [claims.slice(0, 3), claims.slice(3)];
      await ack(some, luck < 0.8 ? "success" : "rate_limited");
      for (const claim of rest) await ack([claim], n % 4 === 0 ? "rate_limited" : "success");
    }
  };
  await concurrently(database, 10, async (client, index) => {
    // When one has failed there is nothing that the others would still find out.
    await work(client, index).finally(() => (finished = true));
  });
  assert.ok(admitted > 500, `only ${admitted} were admitted`);
  assert.ok(reached > changes, `a ceiling was reached ${reached} times only`);

  // Whoever still holds a job is dead; then there is neither a place taken nor a job left behind.
  await query("update :SCHEMA.lease set expires_at_ms = 1");
  while ((await query("select * from :SCHEMA.reclaim_expired()")).length > 0);
  assert.equal(await query("select lease_no, queue, keys from :SCHEMA.lease where queue is not null"), []);
  for (const queue of queues) {
    const [own] = await query<{ name: string }>(
      "select name from :SCHEMA.concurrency_limits() where queue = $1",
      [queue],
    );
    await query("select :SCHEMA.upsert_concurrency_limit($1, $2, 2)", [
      own?.name ?? `last of ${queue}`,
      queue,
    ]);
  }
  await query("update :SCHEMA.job set scheduled_at_ms = 1 where stage = 0");
  await query("select * from :SCHEMA.promote_due(10000)");
  for (;;) {
    const { claims } = await admit({ queues, capacity: 50 });
    if (claims.length === 0) break;
    assert.is(await ack(claims), 0);
  }
  assert.equal(await query("select state, queue from :SCHEMA.job where stage < 2"), []);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
});

changed.run();
