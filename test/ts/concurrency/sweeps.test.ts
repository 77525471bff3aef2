import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { ackBatch, admit, enqueueAll, moveClock, stateOf, type Claim } from "../support/jobs.js";
import { backendPid } from "../support/locks.js";

// timeout: 240 s
const sweeps = suite("sweeps and everything at once");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;
const sql = (text: string): string => database.sql(text);

const isDead = (error: unknown): boolean =>
  /57P01|terminat|queryable|Connection|closed|ECONN/.test(
    `${(error as { code?: string }).code} ${String(error)}`,
  );

sweeps("sweeps pass over locked rows and move the rest (R-30)", async () => {
  const ids = await enqueueAll(
    database,
    Array.from({ length: 20 }, (_, n) => ({ queue: "locked", delay_ms: 1, retention_ms: 1, payload: n })),
  );
  await moveClock(database, 1000);
  const locked = ids[7] ?? "";
  const holder = await database.connect();
  const hold = async (): Promise<void> => {
    await holder.query("begin");
    await holder.query(sql("select from :SCHEMA.job where key = :SCHEMA.job_key($1) for update"), [locked]);
  };
  const count = async (call: string): Promise<number> => {
    const counts = await concurrently(database, 4, async (client) => {
      await client.query("set statement_timeout = '20s'");
      const { rows } = await client.query<{ n: string }>(sql(`select ${call} as n`));
      return Number(rows[0]?.n);
    });
    return counts.reduce((sum, n) => sum + n, 0);
  };
  await hold();
  assert.is(await count(":SCHEMA.promote_due(1000)"), 19);
  assert.is(await stateOf(database, locked), "scheduled");
  await holder.query("rollback");
  assert.is(await count(":SCHEMA.promote_due(1000)"), 1);

  await admit(database, { queue: "locked", capacity: 100, leaseMs: 1000 });
  await moveClock(database, 5000);
  await hold();
  assert.is(await count("(select count(*) from :SCHEMA.reclaim_expired(1000))"), 19);
  await holder.query("rollback");
  assert.is(await count("(select count(*) from :SCHEMA.reclaim_expired(1000))"), 1);

  for (const id of ids) await query("select :SCHEMA.operator_cancel($1)", [id]);
  await moveClock(database, 1000);
  await hold();
  assert.is(await count(":SCHEMA.evict_retained(1000)"), 19);
  await holder.query("rollback");
  assert.is(await count(":SCHEMA.evict_retained(1000)"), 1);
});

sweeps("who can't have a duty writes nothing", async () => {
  const client = await database.connect();
  await query("select :SCHEMA.claim_duty('taken', 'holder', 60000)");
  const claims = async (holder: string): Promise<unknown[]> => {
    await client.query("begin");
    await client.query(sql("select :SCHEMA.claim_duty('taken', $1, 60000)"), [holder]);
    const { rows } = await client.query("select pg_current_xact_id_if_assigned() is not null as wrote");
    await client.query("commit");
    return rows;
  };
  assert.equal(await claims("other"), [{ wrote: false }]);
  assert.equal(await claims("holder"), [{ wrote: true }]);
});

sweeps("a duty is run by one holder at a time, and nobody waits for it", async () => {
  await query("select from :SCHEMA.run_duties('first')");
  await moveClock(database, 20_000);
  const running = await database.connect();
  await running.query("begin");
  const { rows: mine } = await running.query(sql("select duty from :SCHEMA.run_duties('frozen')"));
  assert.ok(mine.length > 0);
  const others = await concurrently(database, 3, async (client, index) => {
    await client.query("set statement_timeout = '20s'");
    const { rows } = await client.query(sql("select duty from :SCHEMA.run_duties($1)"), [`h${index}`]);
    return rows.length;
  });
  assert.equal(others, [0, 0, 0]);
  await running.query("commit");
  // Frozen for longer than its lease, the holder is replaced; thawed, it evicts nobody.
  await moveClock(database, 10_001);
  assert.is((await query("select from :SCHEMA.run_duties('next')")).length, mine.length);
  assert.equal(await query("select from :SCHEMA.run_duties('frozen')"), []);
  await query("select :SCHEMA.release_duty('promote_due', 'frozen')");
  assert.equal(await query("select from :SCHEMA.run_duties('frozen')"), []);
});

sweeps(
  "a backend killed in the middle of any call leaves no job missing, doubled or held (R-33)",
  async () => {
    const queue = "killed";
    const total = 600;
    await enqueueAll(
      database,
      Array.from({ length: total }, (_, n) => ({ queue, partition_key: `p${n % 20}`, payload: n })),
    );
    const done: string[] = [];
    let kills = 0;
    const pids = new Set<number>();
    const until = Date.now() + 8000;
    const work = async (index: number): Promise<void> => {
      let client = await database.connect();
      pids.add(backendPid(client));
      while (Date.now() < until) {
        try {
          const { rows } = await client.query<Claim>(
            sql("select id, lease_id, fence from :SCHEMA.admit($1, array[$2], 5, 500)"),
            [`w${index}`, queue],
          );
          await sleep(Math.random() * 10);
          const acks = rows.map((claim) => ({ ...claim, outcome: "success" }));
          const answers = await ackBatch(client, database, acks);
          done.push(...answers.filter(({ state }) => state !== null).map(({ id }) => id));
          await client.query(sql("select from :SCHEMA.reclaim_expired()"));
        } catch (error) {
          if (!isDead(error)) throw error;
          client = await database.connect();
          pids.add(backendPid(client));
        }
      }
    };
    const killer = async (): Promise<void> => {
      while (Date.now() < until) {
        await sleep(60 + Math.random() * 60);
        const victims = [...pids];
        const victim = victims[Math.floor(Math.random() * victims.length)] ?? 0;
        const [row] = await query<{ ok: boolean }>("select pg_terminate_backend($1) as ok", [victim]);
        pids.delete(victim);
        if (row?.ok) kills++;
      }
    };
    await Promise.all([...Array.from({ length: 6 }, (_, index) => work(index)), killer()]);
    assert.ok(kills > 10, `${kills} kills`);

    for (let round = 0; round < 40; round++) {
      await moveClock(database, 30_000);
      await query("select from :SCHEMA.reclaim_expired()");
      await query("select :SCHEMA.promote_due()");
      const claims = await admit(database, { queue, capacity: 1000, leaseMs: 10_000_000 });
      for (const claim of claims) {
        await query("select :SCHEMA.ack($1, $2, $3)", [claim.id, claim.lease_id, claim.fence]);
        done.push(claim.id);
      }
    }
    assert.is(new Set(done).size, done.length, "a job was acked twice");
    const left = await query<{ state: string }>("select state from :SCHEMA.job where queue = $1", [queue]);
    assert.ok(
      left.every(({ state }) => state === "quarantined"),
      JSON.stringify(left.slice(0, 5)),
    );
    // An ack whose answer was lost with its backend has counted, and is in neither list.
    assert.ok(done.length + left.length <= total && done.length + left.length >= total - kills * 5);
    assert.equal(
      await query(
        "select from :SCHEMA.lease l where exists (select from :SCHEMA.job j where j.key = any (l.keys) and j.lease_no = l.lease_no)",
      ),
      [],
    );
  },
);

sweeps(
  "producers, workers, operators and sweeps together: no deadlock, nothing lost, nothing doubled (R-28)",
  async () => {
    const queue = "mixed";
    const until = Date.now() + 10_000;
    const produced: string[] = [];
    const finished: string[] = [];
    const cancelled: string[] = [];
    const chance = (share: number): boolean => Math.random() < share;
    const produce = async (client: { query: typeof database.pool.query }, n: number): Promise<void> => {
      const jobs = Array.from({ length: 1 + (n % 7) }, (_, m) => ({
        kind: "task",
        queue,
        partition_key: `p${m}`,
        priority: m % 2,
        payload: `${n} ${Math.random()}`,
        ...(chance(0.3) ? { unique_key: `u${Math.floor(Math.random() * 20)}` } : {}),
        ...(chance(0.2) ? { delay_ms: 20 } : {}),
      }));
      for (const batch of chance(0.5) ? [jobs] : jobs.map((job) => [job])) {
        const { rows } = await client.query<{ id: string; disposition: string }>(
          sql("select id, disposition from :SCHEMA.enqueue_many($1, 'report')"),
          [JSON.stringify(batch)],
        );
        produced.push(...rows.filter(({ disposition }) => disposition === "inserted").map(({ id }) => id));
      }
    };
    const work = async (client: { query: typeof database.pool.query }, worker: string): Promise<void> => {
      const { rows } = await client.query<Claim>(
        sql("select id, lease_id, fence from :SCHEMA.admit($1, array[$2], 8, $3)"),
        [worker, queue, chance(0.2) ? 20 : 60_000],
      );
      const holders = rows.map(({ id, lease_id, fence }) => ({ job_id: id, lease_id, fence }));
      if (chance(0.3)) await sleep(30);
      if (chance(0.5)) {
        const part = holders.filter(() => chance(0.7));
        await client.query(sql("select :SCHEMA.renew($1, 60000)"), [JSON.stringify(part)]);
      }
      const acks = rows.map((claim) => ({
        ...claim,
        outcome: chance(0.8) ? "success" : chance(0.5) ? "rate_limited" : "retry",
      }));
      const answers = await ackBatch(
        client,
        database,
        acks.sort(() => Math.random() - 0.5),
      );
      finished.push(...answers.filter(({ state }) => state === "deleted").map(({ id }) => id));
    };
    await concurrently(database, 10, async (client, index) => {
      await client.query("set deadlock_timeout = '100ms'");
      for (let n = 0; Date.now() < until; n++) {
        if (index < 3) await produce(client, n);
        else if (index < 7) await work(client, `w${index}`);
        else if (index === 7) {
          const id = produced[Math.floor(Math.random() * produced.length)];
          const { rows } = await client.query<{ n: string }>(
            sql("select count(*) as n from :SCHEMA.list_jobs($1) where state <> 'cancelled'"),
            [JSON.stringify({ queue, id: id ?? "none" })],
          );
          if (rows[0]?.n === "1") {
            const gone = await client.query(sql("select :SCHEMA.operator_cancel($1)"), [id]).then(
              () => true,
              (error: { code?: string }) => {
                if (!error.code?.startsWith("HR")) throw error as Error;
                return false;
              },
            );
            if (gone && id) cancelled.push(id);
          }
          await sleep(20);
        } else {
          await client.query(sql("select from :SCHEMA.run_duties($1, null, 50, 100)"), [`h${index}`]);
          await client.query(
            sql(
              "select from :SCHEMA.reclaim_expired(); select :SCHEMA.promote_due(); select :SCHEMA.evict_retained()",
            ),
          );
          await sleep(20);
        }
      }
    });
    for (let round = 0; round < 10; round++) {
      await moveClock(database, 3_700_000);
      await query("select from :SCHEMA.reclaim_expired(10000)");
      await query("select :SCHEMA.promote_due(10000)");
      for (;;) {
        const claims = await admit(database, { queue, capacity: 500, leaseMs: 1_000_000_000 });
        if (claims.length === 0) break;
        for (const claim of claims) {
          await query("select :SCHEMA.ack($1, $2, $3)", [claim.id, claim.lease_id, claim.fence]);
          finished.push(claim.id);
        }
      }
    }
    const left = await query<{ id: string; state: string }>(
      "select :SCHEMA.job_id(key, id) as id, state from :SCHEMA.job where queue = $1 and state <> 'cancelled'",
      [queue],
    );
    assert.ok(
      left.every(({ state }) => state === "quarantined"),
      JSON.stringify(left.slice(0, 5)),
    );
    assert.is(new Set(finished).size, finished.length, "a job ended twice");
    const ends = new Set([...finished, ...cancelled, ...left.map(({ id }) => id)]);
    assert.equal(
      produced.filter((id) => !ends.has(id)),
      [],
    );
    assert.ok(finished.length > 100, String(finished.length));
  },
);

sweeps.after(() => database.close());
sweeps.run();
