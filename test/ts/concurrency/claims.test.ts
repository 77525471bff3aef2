import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { ack, ackBatch, admit, admitOne, enqueue, enqueueAll, stateOf, type Claim } from "../support/jobs.js";
import { blocked } from "../support/locks.js";
import { refusal } from "../support/refusal.js";

const claims = suite("claims, leases and fences under concurrency");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;
const sql = (text: string): string => database.sql(text);

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Claims with eight connections until the queue gives nothing more, and answers with the ids in the order claimed. */
async function drain(queue: string, capacity: number): Promise<string[]> {
  const perClient = await concurrently(database, 8, async (client, index) => {
    const ids: string[] = [];
    for (let empty = 0; empty < 3;) {
      const { rows } = await client.query<Claim>(
        sql("select id from :SCHEMA.admit($1, array[$2], $3, 600000)"),
        [`w${index}`, queue, capacity],
      );
      ids.push(...rows.map(({ id }) => id));
      empty = rows.length === 0 ? empty + 1 : 0;
    }
    return ids;
  });
  return perClient.flat();
}

const shapes: Record<string, (n: number) => Record<string, unknown>> = {
  "in one line": () => ({}),
  "in twenty partitions": (n) => ({ partition_key: `p${n % 20}` }),
  "of five priorities": (n) => ({ priority: n % 5 }),
  "of three rate classes in four partitions": (n) => ({
    rate_class: `c${n % 3}`,
    partition_key: `p${n % 4}`,
  }),
  "sticky to four of eight, and free": (n) => (n % 2 === 0 ? { sticky_worker: `w${(n / 2) % 4}` } : {}),
};

for (const [name, shape] of Object.entries(shapes)) {
  claims(`eight claimers over 500 jobs ${name}: none twice, none left`, async () => {
    for (const capacity of [1, 16]) {
      const queue = `drain ${name} ${capacity}`;
      const jobs = await enqueueAll(
        database,
        times(capacity === 1 ? 100 : 500, (n) => ({ queue, ...shape(n) })),
      );
      const claimed = await drain(queue, capacity);
      assert.is(new Set(claimed).size, claimed.length, "one was claimed twice");
      assert.equal([...claimed].sort(), [...jobs].sort());
    }
  });
}

claims(
  "eight reclaimers hand out each expired lease once, whatever acks and renewals race them",
  async () => {
    const queue = "reclaim";
    await enqueueAll(
      database,
      times(1000, (n) => ({ queue, retention_ms: 3_600_000, payload: n })),
    );
    const held: Claim[] = [];
    for (let n = 0; n < 20; n++) held.push(...(await admit(database, { queue, capacity: 50, leaseMs: 200 })));
    assert.is(held.length, 1000);
    await query("select pg_sleep(0.3)");
    const acked = new Set<string>();
    const renewed = new Set<string>();
    const [reclaimed] = await Promise.all([
      concurrently(database, 8, async (client) => {
        const { rows } = await client.query<{ id: string }>(
          sql("select id from :SCHEMA.reclaim_expired(1000)"),
        );
        return rows.map(({ id }) => id);
      }),
      concurrently(database, 2, async (client, index) => {
        for (const claim of held.filter((_, n) => n % 40 === index)) {
          const [answer] = await ackBatch(client, database, [{ ...claim, outcome: "success" }]);
          if (answer && answer.state !== null) acked.add(claim.id);
        }
      }),
      concurrently(database, 2, async (client, index) => {
        for (const claim of held.filter((_, n) => n % 40 === index + 20)) {
          const { rows } = await client.query(sql("select :SCHEMA.renew($1, 600000)"), [
            JSON.stringify([{ job_id: claim.id, lease_id: claim.lease_id, fence: claim.fence }]),
          ]);
          if (rows.length === 0) renewed.add(claim.id);
        }
      }),
    ]);
    const ids = [
      ...reclaimed.flat(),
      ...(await query<{ id: string }>("select id from :SCHEMA.reclaim_expired(1000)")).map(({ id }) => id),
    ];
    assert.is(new Set(ids).size, ids.length, "one was handed out twice");
    for (const id of ids) assert.not(acked.has(id) || renewed.has(id), `${id} was reclaimed and held`);
    assert.is(ids.length + acked.size + renewed.size, 1000);
    const counts = await query<{ id: string; crash_attempt: number; state: string }>(
      "select :SCHEMA.job_id(key, id) as id, crash_attempt, state from :SCHEMA.job where queue = $1",
      [queue],
    );
    const gone = new Set(ids);
    for (const job of counts) assert.is(job.crash_attempt, gone.has(job.id) ? 1 : 0, job.id);
  },
);

claims("an ack that waits for a renewal which splits the lease is not rejected", async () => {
  const queue = "split";
  for (const outcome of ["success", "retry"]) {
    const ids = await enqueueAll(database, [{ queue }, { queue }, { queue }]);
    const held = await admit(database, { queue, capacity: 3 });
    assert.is(held.length, ids.length);
    const [kept, renewer, acker] = [held[0], await database.connect(), await database.connect()];
    assert.ok(kept);
    await renewer.query("begin");
    const lost = await renewer.query(sql("select :SCHEMA.renew($1, 60000)"), [
      JSON.stringify([{ job_id: kept.id, lease_id: kept.lease_id, fence: kept.fence }]),
    ]);
    assert.is(lost.rowCount, 0);
    const waiting = acker.query<{ state: string }>(sql("select :SCHEMA.ack($1, $2, $3, $4) as state"), [
      kept.id,
      kept.lease_id,
      kept.fence,
      outcome,
    ]);
    await blocked(database.pool, acker);
    await renewer.query("commit");
    assert.is((await waiting).rows[0]?.state, outcome === "success" ? "deleted" : "retryable");
    for (const claim of held.slice(1)) await ack(database, claim, "success");
  }
});

claims("a checkpoint that waits for such a renewal is not rejected either", async () => {
  const queue = "split-checkpoint";
  await enqueueAll(database, [{ queue }, { queue }]);
  const [kept] = await admit(database, { queue, capacity: 2 });
  assert.ok(kept);
  const [renewer, holder] = [await database.connect(), await database.connect()];
  await renewer.query("begin");
  await renewer.query(sql("select :SCHEMA.renew($1, 60000)"), [
    JSON.stringify([{ job_id: kept.id, lease_id: kept.lease_id, fence: kept.fence }]),
  ]);
  const waiting = holder.query(sql("select :SCHEMA.checkpoint($1, $2, $3, '{}')"), [
    kept.id,
    kept.lease_id,
    kept.fence,
  ]);
  await blocked(database.pool, holder);
  await renewer.query("commit");
  await waiting;
});

claims("stale holders change nothing in any order of ack, cancel, reclaim and renew", async () => {
  const queue = "rounds";
  for (let round = 0; round < 60; round++) {
    const id = await enqueue(database, { queue, retention_ms: 3_600_000, payload: round });
    const first = await admitOne(database, { queue, worker: "w1", leaseMs: 1 });
    await query("select pg_sleep(0.003)");
    const lost = await query("select id from :SCHEMA.reclaim_expired()");
    assert.is(lost.filter((row) => row["id"] === id).length, 1);
    await query("select :SCHEMA.reschedule_job($1, 1)", [id]);
    const second = await admitOne(database, { queue, worker: "w2", leaseMs: 600_000 });
    assert.is(second.id, id);
    assert.is(BigInt(second.fence), BigInt(first.fence) + 1n);

    const holder = { job_id: id, lease_id: first.lease_id, fence: first.fence };
    const stale = [
      async () => assert.is((await refusal(ack(database, first, "success"))).code, "HR005"),
      async () => assert.is((await refusal(ack(database, first, "retry"))).code, "HR005"),
      async () =>
        assert.is((await refusal(ack(database, { ...second, fence: first.fence }, "success"))).code, "HR005"),
      async () =>
        assert.equal(await query("select :SCHEMA.renew($1, 1000) as id", [JSON.stringify([holder])]), [
          { id },
        ]),
      async () =>
        assert.equal(
          (await query("select id from :SCHEMA.reclaim_expired()")).filter((row) => row["id"] === id),
          [],
        ),
    ].sort(() => Math.random() - 0.5);
    const fresh = ["ack", "cancel", "release"][round % 3];
    const moves = [...stale];
    moves.splice(Math.floor(Math.random() * stale.length), 0, async () => {
      if (fresh === "ack") await ack(database, second, "success");
      if (fresh === "cancel") await query("select :SCHEMA.operator_cancel($1)", [id]);
      if (fresh === "release") await ack(database, second, "rate_limited");
    });
    await Promise.all(moves.map((move) => move()));
    const expected = { ack: "completed", cancel: "cancelled", release: "available" }[fresh ?? ""];
    assert.is(await stateOf(database, id), expected);
    if (fresh === "release") await ack(database, await admitOne(database, { queue }), "success");
  }
});

claims("of a cancel and an ack exactly one wins, and the other hears of it", async () => {
  const queue = "authority";
  let cancelled = 0;
  for (let round = 0; round < 60; round++) {
    const id = await enqueue(database, { queue, retention_ms: 3_600_000 });
    const claim = await admitOne(database, { queue });
    const outcome = ["success", "retry", "rate_limited"][round % 3] ?? "";
    const [byOperator, byHolder] = await Promise.allSettled([
      query("select :SCHEMA.operator_cancel($1)", [id]),
      ack(database, claim, outcome, outcome === "retry" ? { delayMs: 3_600_000 } : {}),
    ]);
    const state = await stateOf(database, id);
    if (byHolder.status === "rejected") assert.is(state, "cancelled");
    else if (byOperator.status === "rejected") assert.is(state, "completed");
    else assert.is(state, "cancelled", "the ack came first, and left a job that can be cancelled");
    assert.not(byHolder.status === "rejected" && byOperator.status === "rejected");
    if (state === "cancelled") cancelled++;
  }
  assert.ok(cancelled > 0);
});

claims("an effect is claimed by the transaction that commits", async () => {
  const [first, second] = [await database.connect(), await database.connect()];
  for (const end of ["rollback", "commit"]) {
    await first.query("begin");
    await first.query(sql("select :SCHEMA.claim_effect($1)"), [`effect-${end}`]);
    const waiting = second.query<{ mine: boolean }>(sql("select :SCHEMA.claim_effect($1) as mine"), [
      `effect-${end}`,
    ]);
    await blocked(database.pool, second);
    await first.query(end);
    assert.is((await waiting).rows[0]?.mine, end === "rollback");
  }
});

claims("a stale holder's transaction rolls back with its business writes (R-15)", async () => {
  const queue = "once";
  await query("create table public.domain (id text)");
  const id = await enqueue(database, { queue });
  const first = await admitOne(database, { queue, leaseMs: 1 });
  const client = await database.connect();
  await client.query("begin");
  await client.query(sql("select :SCHEMA.claim_effect($1)"), [`once:${id}:1`]);
  await client.query("insert into public.domain values ($1)", [id]);
  await query("select pg_sleep(0.01)");
  await query("select from :SCHEMA.reclaim_expired()");
  await query("select :SCHEMA.reschedule_job($1, 1)", [id]);
  const second = await admitOne(database, { queue });
  await query("insert into public.domain values ($1)", [id]);
  await query("select :SCHEMA.complete($1, $2, $3)", [second.id, second.lease_id, second.fence]);
  const { code } = await refusal(
    client.query(sql("select :SCHEMA.complete($1, $2, $3)"), [first.id, first.lease_id, first.fence]),
  );
  assert.is(code, "HR005");
  await client.query("commit");
  assert.is((await query("select from public.domain")).length, 1);
});

claims.after(() => database.close());
claims.run();
