import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { privateServer } from "../support/database.js";
import { admit, enqueueAll, moveClock } from "../support/jobs.js";

// timeout: 240 s
const plans = suite("what calls touch");

// A server of its own, on which nobody else's transactions hold the remembered positions where they are, and where no
// vacuum comes to the rescue.
const server = await privateServer({ settings: { autovacuum: "off" } });
const { database } = server;
const { query } = database;
const sql = (text: string): string => database.sql(text);
const client = await database.connect();

/** Pages that a call looks at, in everything that it does inside. */
async function pages(call: string, on: pg.ClientBase = client): Promise<number> {
  const { rows } = await on.query<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(
    sql(`explain (analyze, buffers, timing off, format json) ${call}`),
  );
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan ?? {};
  return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
}

async function sequentialScans(): Promise<number> {
  await client.query("select pg_stat_force_next_flush()");
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query<{ n: string }>(
    "select sum(seq_scan) as n from pg_stat_user_tables where relname in ('job', 'lease', 'lane', 'job_extra', 'attempt')",
  );
  return Number(rows[0]?.n);
}

/**
 * Jobs by the thousand, past the functions: what a restore or an import leaves behind. On the client that counts its scans:
 * others report theirs later.
 */
async function load(count: number): Promise<void> {
  const query = (text: string, values: unknown[] = []): Promise<unknown> => client.query(sql(text), values);
  await query("select :SCHEMA.set_transition_guard(false)");
  await query(
    `insert into :SCHEMA.job (state, queue, partition_key, enqueued_at_ms, scheduled_at_ms, kind, payload, finalized_at_ms,
      evict_at_ms)
    select s.state, 'bulk', 'p' || n % 10, 0, case when s.state = 'scheduled' then 9e15 else n end, 'task', '{}',
      case when s.state = 'completed' then 1 end, case when s.state = 'completed' then 9e15 end
    from generate_series(1, $1::integer) n,
      lateral (select (array['available', 'scheduled', 'completed'])[1 + n % 3]::"${database.schema}".job_state as state) s`,
    [count],
  );
  await query(
    `insert into :SCHEMA.lane (queue, partition_key, sticky_worker, class_key, priority)
    select 'bulk', 'p' || n, '', '', 0 from generate_series(0, 9) n`,
  );
  await query(
    "insert into :SCHEMA.tally (queue, at_ms, depth) select 'bulk', 0, count(*) from :SCHEMA.job where queue = 'bulk' and stage < 2",
  );
}

const stages: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["on an empty install", async () => undefined],
  ["after an analyse of empty tables", () => query("analyze")],
  ["with 60,000 jobs that were never analysed", () => load(60_000)],
  ["after an analyse of them", () => query("analyze")],
];

for (const [name, prepare] of stages) {
  plans(`claims, acks, renewals and sweeps touch few pages ${name}`, async () => {
    await prepare();
    const queue = `measured ${name}`;
    const seen: Record<string, number> = {};
    // The first calls of a session load the catalog and plan.
    for (const round of [1, 2, 3]) {
      const jobs = Array.from({ length: 48 }, (_, n) => ({
        queue,
        ...(n % 2 === 0 ? { retention_ms: 1000 } : {}),
        ...(n < 16 ? { delay_ms: 1000 } : {}),
      }));
      await enqueueAll(database, jobs);
      await moveClock(database, 1500);
      const before = await sequentialScans();
      seen["promote_due"] = await pages("select :SCHEMA.promote_due(1000)");
      seen["admit"] = await pages(`select * from :SCHEMA.admit('w', array['${queue}'], 16, 600000)`);
      const between = await sequentialScans();
      const { rows } = await client.query<{ id: string; lease_id: string; fence: string }>(
        sql("select id, lease_id, fence from :SCHEMA.list_jobs($1, null, 200) where state = 'running'"),
        [JSON.stringify({ queue })],
      );
      const listed = await sequentialScans();
      assert.is(rows.length, 16, `round ${round}`);
      const holders = rows.map(({ id, lease_id, fence }) => ({ job_id: id, lease_id, fence }));
      seen["renew"] = await pages(`select :SCHEMA.renew('${JSON.stringify(holders)}', 600000)`);
      const first = holders.splice(0, 8);
      const list = (values: readonly string[]): string => `'{${values.join()}}'`;
      seen["ack_batch"] = await pages(
        `select * from :SCHEMA.ack_batch(${list(first.map(({ job_id }) => job_id))}, ${list(
          first.map(({ lease_id }) => lease_id),
        )}, ${list(first.map(({ fence }) => fence))})`,
      );
      const acks = holders.map((holder, n) => ({ ...holder, outcome: n % 2 === 0 ? "success" : "skip" }));
      seen["ack_many"] = await pages(`select * from :SCHEMA.ack_many('${JSON.stringify(acks)}')`);
      await client.query(sql(`select from :SCHEMA.admit('w', array['${queue}'], 32, 1000)`));
      await moveClock(database, 2000);
      seen["reclaim_expired"] = await pages("select * from :SCHEMA.reclaim_expired(1000)");
      seen["evict_retained"] = await pages("select :SCHEMA.evict_retained(1000)");
      seen["nothing due"] = await pages("select :SCHEMA.promote_due(1000)");
      seen["nothing to claim"] = await pages(
        "select * from :SCHEMA.admit('w', array['nowhere'], 16, 600000)",
      );
      const after = await sequentialScans();
      assert.is(after - listed, 0, `a whole table was read in round ${round}: ${JSON.stringify(seen)}`);
      assert.is(between - before, 0, `a whole table was read by a claim in round ${round}`);
      assert.is(listed - between, 0, `a whole table was read to list jobs in round ${round}`);
      // The rest of the round, so that the next begins with nothing left.
      await moveClock(database, 100_000);
      await query("select :SCHEMA.promote_due()");
      for (const claim of await admit(database, { queue, capacity: 1000 })) {
        await query("select :SCHEMA.ack($1, $2, $3, 'revoke')", [claim.id, claim.lease_id, claim.fence]);
      }
    }
    const bounds: Record<string, number> = {
      promote_due: 1500,
      admit: 1500,
      renew: 600,
      ack_batch: 1500,
      ack_many: 1500,
      reclaim_expired: 4000,
      evict_retained: 600,
      "nothing due": 200,
      "nothing to claim": 200,
    };
    for (const [call, most] of Object.entries(bounds)) {
      assert.ok((seen[call] ?? Infinity) <= most, `${call}: ${JSON.stringify(seen)}`);
    }
  });
}

plans("under an old snapshot a claim costs no more after fifty rounds than after five (R-80)", async () => {
  const queue = "old";
  const old = await database.connect();
  await old.query("begin isolation level repeatable read");
  await old.query("select 1 from pg_class limit 1");
  const costs: number[] = [];
  for (let round = 0; round < 50; round++) {
    await enqueueAll(
      database,
      Array.from({ length: 100 }, () => ({ queue })),
    );
    for (let n = 0; n < 2; n++) {
      await moveClock(database, 1100);
      costs.push(await pages(`select * from :SCHEMA.admit('w', array['${queue}'], 50, 600000)`));
    }
    const { rows } = await client.query<{ id: string; lease_id: string; fence: string }>(
      sql(`select :SCHEMA.job_id(key, id) as id, l.lease_id, j.fence from :SCHEMA.job j
        join :SCHEMA.lease l using (lease_no) where j.queue = '${queue}' and j.state = 'running'`),
    );
    assert.is(rows.length, 100);
    await query("select from :SCHEMA.ack_many($1)", [
      JSON.stringify(
        rows.map(({ id, lease_id, fence }) => ({ job_id: id, lease_id, fence, outcome: "success" })),
      ),
    ]);
  }
  const dead = await query<{ n: string }>("select count(*) as n from :SCHEMA.job where queue = $1", [queue]);
  assert.is(dead[0]?.n, "0");
  const mean = (part: readonly number[]): number => part.reduce((sum, n) => sum + n, 0) / part.length;
  const [early, late] = [mean(costs.slice(6, 16)), mean(costs.slice(-10))];
  assert.ok(late <= early * 1.5 + 100, `${early} pages at first, ${late} at last: ${costs.join(" ")}`);
  await old.query("rollback");
});

plans.after(() => server.close());
plans.run();
