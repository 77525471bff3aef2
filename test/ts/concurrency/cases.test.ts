// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { gate, type GateClaim } from "../gate/support.js";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";

/** Failures that others have met in the field, with their figures. */
const cases = suite("cases from the field");
const database = await testDatabase();
const { query, sql } = database;
const { admit, enqueue, ack, moveClock, reset, one } = gate(database);
cases.before.each(reset);
cases.after(() => database.close());

const holder = ({ id, lease_id, fence }: GateClaim) => ({ job_id: id, lease_id, fence: Number(fence) });
const sound = async (): Promise<void> =>
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);

cases("a slot of a stale holder is given once, whoever comes back in whatever order (R-06)", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('one', 'q', 1)");
  for (let round = 0; round < 40; round++) {
    await enqueue(3, { queue: "q", partition_key: "tenant", fingerprint: `content ${round}` });
    const [stale] = (await admit({ queues: ["q"], worker: "w1", leaseMs: 1000 })).claims;
    await moveClock(1001);
    assert.is((await query("select from :SCHEMA.reclaim_expired()")).length, 1);
    const [fresh, ...more] = (await admit({ queues: ["q"], worker: "w2" })).claims;
    assert.ok(stale && fresh && more.length === 0, `round ${round}`);
    const late = [
      () => ack([stale]).then((rejected) => assert.is(rejected, 1)),
      () => ack([stale], "retry").then((rejected) => assert.is(rejected, 1)),
      () =>
        query("select :SCHEMA.renew($1, 60000) as id", [JSON.stringify([holder(stale)])]).then((lost) =>
          assert.equal(lost, [{ id: stale.id }]),
        ),
      () => query("select from :SCHEMA.reclaim_expired()"),
      () => admit({ queues: ["q"], worker: "w3" }).then(({ claims }) => assert.equal(claims, [])),
    ];
    const first = round % late.length;
    await Promise.all([...late.slice(first), ...late.slice(0, first)].map((call) => call()));
    assert.is(Number(await one("select count(*) from :SCHEMA.job where state = 'running'")), 1);
    if (round % 2 === 0) assert.is(await ack([fresh]), 0);
    else await query("select :SCHEMA.operator_cancel($1)", [fresh.id]);
    assert.equal(await query("select lease_no from :SCHEMA.lease where queue = 'q'"), []);
    await query(
      "select :SCHEMA.operator_cancel(id) from :SCHEMA.list_jobs('{\"queue\": \"q\"}') where state not in ('cancelled', 'completed')",
    );
  }
  await sound();
});

cases("a crash spends no attempt, and an error no crash (R-09)", async () => {
  const [id] = await enqueue(1, { max_attempts: 1, retention_ms: 60_000 });
  await admit({ leaseMs: 1000 });
  await moveClock(1001);
  await query("select from :SCHEMA.reclaim_expired()");
  const state = () => query("select state, attempt, crash_attempt from :SCHEMA.get_job($1)", [id]);
  assert.equal(await state(), [{ state: "retryable", attempt: 0, crash_attempt: 1 }]);
  await moveClock(3_600_000);
  assert.is(await ack((await admit()).claims), 0);
  assert.equal(await state(), [{ state: "completed", attempt: 0, crash_attempt: 1 }]);
  const [other] = await enqueue(1, { max_attempts: 1 });
  await ack((await admit()).claims, "retry");
  assert.equal(await query("select state, attempt, crash_attempt from :SCHEMA.get_job($1)", [other]), [
    { state: "archived", attempt: 1, crash_attempt: 0 },
  ]);
});

cases(
  "eight reclaimers hand each expired job out once, and none that was renewed or ended (R-14)",
  async () => {
    const ids = await enqueue(400, { retention_ms: 3_600_000 });
    const claims: GateClaim[] = [];
    while (claims.length < ids.length) claims.push(...(await admit({ capacity: 25, leaseMs: 1000 })).claims);
    await moveClock(1001);
    const [acked, renewed] = [claims.filter((_, n) => n % 8 === 0), claims.filter((_, n) => n % 8 === 1)];
    const reclaimed: string[] = [];
    const ended: string[] = [];
    let kept: string[] = [];
    await concurrently(database, 10, async (client, index) => {
      if (index === 8) {
        for (const claim of acked) if ((await ack([claim])) === 0) ended.push(claim.id);
      } else if (index === 9) {
        const { rows } = await client.query<{ id: string }>(sql("select :SCHEMA.renew($1, 600000) as id"), [
          JSON.stringify(renewed.map(holder)),
        ]);
        kept = renewed.map(({ id }) => id).filter((id) => !rows.some((row) => row.id === id));
      } else {
        const { rows } = await client.query<{ id: string }>(
          sql("select id from :SCHEMA.reclaim_expired(1000)"),
        );
        reclaimed.push(...rows.map(({ id }) => id));
      }
    });
    // What was locked just then is left to the next sweep.
    for (const row of await query<{ id: string }>("select id from :SCHEMA.reclaim_expired(1000)"))
      reclaimed.push(row.id);
    assert.is(new Set(reclaimed).size, reclaimed.length, "one was handed out twice");
    assert.equal(
      reclaimed.filter((id) => ended.includes(id) || kept.includes(id)),
      [],
    );
    assert.is(reclaimed.length + ended.length + kept.length, ids.length);
    const rows = await query<{ id: string; state: string; crash_attempt: number }>(
      "select id, state, crash_attempt from :SCHEMA.jobs",
    );
    for (const { id, state, crash_attempt } of rows) {
      const expected = ended.includes(id)
        ? ["completed", 0]
        : kept.includes(id)
          ? ["running", 0]
          : ["retryable", 1];
      assert.equal([state, crash_attempt], expected, id);
    }
    await sound();
  },
);

cases("numbers beyond 31 bits break nothing, and what exists consumes none (R-51)", async () => {
  const sequences = () =>
    query<{ name: string; last: string }>(
      "select sequencename::text as name, coalesce(last_value, 0) as last from pg_sequences where schemaname = :SCHEMA_LITERAL order by 1",
    );
  for (const { name } of await sequences())
    await query(`alter sequence :SCHEMA.${name} restart with 2147483640`);
  await query("select :SCHEMA.set_history_policy('wide', 'all')");
  await query("select :SCHEMA.set_archive_policy('wide', 3600000)");
  await query("select :SCHEMA.upsert_concurrency_limit('wide', 'wide', 1000)");
  await query("select :SCHEMA.upsert_schedule('wide', '@every:1000', 'tick', queue => 'wide')");
  const outcomes = ["success", "retry", "skip", "rate_limited", "undecodable", "revoke"];
  for (let round = 0; round < 10; round++) {
    await enqueue(10, {
      queue: "wide",
      partition_key: `p${round}`,
      retention_ms: 1000,
      checkpoint: undefined,
    });
    const { claims } = await admit({ queues: ["wide"], capacity: 5 });
    assert.ok(claims.length > 0);
    for (const [n, claim] of claims.entries()) {
      const key = [claim.id, claim.lease_id, claim.fence];
      await query("select :SCHEMA.checkpoint($1, $2, $3, '{\"completed\": []}')", key);
      await query("select :SCHEMA.write_job_progress($1, $2, $3, 1, 2)", key);
      await query("select * from :SCHEMA.renew($1, 60000)", [JSON.stringify([holder(claim)])]);
      await ack([claim], outcomes[(round + n) % outcomes.length]);
    }
    await moveClock(2000);
    await query('select * from :SCHEMA.create_operation(\'cancel\', \'{"queue": "wide", "priority": 7}\')');
    await query("select :SCHEMA.backend_upsert_run($1)", [
      JSON.stringify({ run_id: `run ${round}`, job_id: "x", task_name: "t", status: "success" }),
    ]);
    await query("select :SCHEMA.heartbeat_worker('w', 'one', 'host', 1, '{wide}', 1)");
    for (const row of await query("select * from :SCHEMA.run_duties('me')"))
      assert.is(row["error"], null, JSON.stringify(row));
  }
  for (const read of [
    "list_jobs('{}')",
    "list_archive('wide')",
    "list_schedule_events('wide')",
    "counts()",
    "queue_stats()",
    "list_operations()",
  ])
    await query(`select * from :SCHEMA.${read}`);
  const moved = (await sequences()).filter(({ last }) => Number(last) > 2147483647).map(({ name }) => name);
  for (const table of ["job", "lease", "attempt", "schedule_event"])
    assert.ok(
      moved.some((name) => name.startsWith(`${table}_`)),
      `${table} stayed below: ${moved.join()}`,
    );

  const before = await sequences();
  await enqueue(5000, { queue: "wide" });
  await enqueue(5000, { queue: "wide" });
  const changed = (await sequences())
    .filter(({ last }, n) => last !== before[n]?.last)
    .map(({ name }) => name);
  assert.equal(changed, ["job_key_seq", "tally_no_seq"], "a number a job, and a row of counts a batch");
  const tallies = async () => Number((await sequences()).find(({ name }) => name === "tally_no_seq")?.last);
  assert.ok((await tallies()) - Number(before.find(({ name }) => name === "tally_no_seq")?.last) <= 2);
  await sound();
});

cases("what can't run now takes no place of what can (R-76)", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('q', 'q', 1)");
  await query("select :SCHEMA.upsert_rate_class('r', 1, 3600000, 1)");
  await query("select :SCHEMA.set_queue_paused('p', true)");
  await enqueue(5000, { queue: "q", partition_key: "a" });
  await enqueue(5000, { queue: "q", partition_key: "c", rate_class: "r" });
  await enqueue(10_000, { queue: "p" });
  assert.is(
    (await admit({ queues: ["q", "p"], capacity: 2 })).claims.length,
    2,
    "the ceiling and the class are full",
  );
  await enqueue(1, { queue: "q", partition_key: "b", priority: 99, delay_ms: 3_600_000 });
  const [b] = await enqueue(1, { queue: "q", partition_key: "b" });
  const [d] = await enqueue(1, { queue: "q", partition_key: "d" });
  const { claims } = await admit({ queues: ["q", "p"], capacity: 2 });
  assert.equal(claims.map(({ id }) => id).sort(), [b, d].sort());
});

cases(
  "ten a second are ten a second in the long run, in order, and come back from zero and from a step back (R-78)",
  async () => {
    await query("select :SCHEMA.upsert_rate_class('r', 10, 1000, 10)");
    const ids = await enqueue(500, { rate_class: "r" });
    const grants: { id: string; at: number }[] = [];
    const poll = async (ms: number): Promise<void> => {
      const now = async () => Number(await one("select :SCHEMA.now_ms()"));
      for (const until = (await now()) + ms; ;) {
        const { claims } = await admit({ capacity: 20 });
        const at = await now();
        grants.push(...claims.map(({ id }) => ({ id, at })));
        if (at >= until) return;
        await moveClock(40);
      }
    };
    const within = (from: number, ms: number): number =>
      grants.filter(({ at }) => at > from && at <= from + ms).length;
    await poll(25_000);
    const first = grants[0]!.at;
    // When it was granted is known to the length of a poll, so the ends of a window are blurred by one.
    for (const { at } of grants) {
      assert.ok(within(at - 1000, 1000) <= 21, `${within(at - 1000, 1000)} in a second`);
      if (at >= first + 10_000) {
        const n = within(at - 10_000, 10_000);
        assert.ok(n >= 93 && n <= 112, `${n} in ten seconds`);
      }
    }
    await query("select :SCHEMA.upsert_rate_class('r', 0, 1000, 10)");
    const closed = grants.length;
    await poll(3000);
    assert.is(grants.length, closed, "closed");
    await query("select :SCHEMA.upsert_rate_class('r', 10, 1000, 10)");
    await poll(3000);
    assert.ok(
      grants.length >= closed + 25 && grants.length <= closed + 35,
      `${grants.length - closed} in three seconds`,
    );
    await moveClock(-10_000);
    const stepped = grants.length;
    await poll(9000);
    assert.ok(grants.length <= stepped + 10, "what was left, and nothing for the second time");
    await poll(4000);
    assert.ok(grants.length >= stepped + 20, "it goes on when the step is over");
    assert.equal(
      grants.map(({ id }) => id),
      ids.slice(0, grants.length),
      "in their order",
    );
  },
);

cases.run();
