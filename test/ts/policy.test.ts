import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase } from "./support/database.js";
import { ack, admit, admitOne, enqueue, jobIn, stateOf } from "./support/jobs.js";
import { blocked } from "./support/locks.js";
import { refusal } from "./support/refusal.js";

const policy = suite("settings of queues");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;
const call = (name: string, ...values: unknown[]): Promise<unknown> =>
  query(`select :SCHEMA.${name}(${values.map((_, at) => `$${at + 1}`).join(", ")})`, values);
const attempts = async (id: string): Promise<unknown[]> =>
  (await query("select outcome from :SCHEMA.list_attempts($1)", [id])).map(({ outcome }) => outcome);

policy("a paused queue without a row admits nothing, takes jobs, and goes on when it is let", async () => {
  const queue = "paused";
  const running = await enqueue(database, { queue });
  const claim = await admitOne(database, { queue });
  await call("set_queue_paused", queue, true);
  const waiting = await enqueue(database, { queue });
  assert.equal(await admit(database, { queue }), []);
  await ack(database, claim, "rate_limited");
  assert.equal(await admit(database, { queue }), []);
  await call("set_queue_paused", queue, false);
  const ids = (await admit(database, { queue })).map(({ id }) => id);
  assert.equal(ids.sort(), [running, waiting].sort());
});

policy("a pause waits for the admissions under way, and no claim commits after it", async () => {
  const queue = "exact";
  for (let n = 0; n < 4; n++) await enqueue(database, { queue });
  const [worker, operator, late] = [
    await database.connect(),
    await database.connect(),
    await database.connect(),
  ];
  const claim = database.sql(`select id from :SCHEMA.admit('w', array['${queue}'], 1)`);
  await worker.query("begin");
  assert.is((await worker.query(claim)).rowCount, 1);
  const paused = operator.query(database.sql("select :SCHEMA.set_queue_paused($1, true)"), [queue]);
  await blocked(database.pool, operator);
  const second = late.query(claim);
  await blocked(database.pool, late);
  await worker.query("commit");
  await paused;
  assert.is((await second).rowCount, 0);
});

policy("a pause that can't have its turn fails in time and changes nothing", async () => {
  const queue = "stuck";
  await enqueue(database, { queue });
  const worker = await database.connect();
  await worker.query("begin");
  await worker.query(database.sql(`select id from :SCHEMA.admit('w', array['${queue}'], 1)`));
  assert.is((await refusal(call("set_queue_paused", queue, true))).code, "55P03");
  await worker.query("rollback");
  assert.is((await admit(database, { queue })).length, 1);
});

policy("claims against pauses at random: nothing is claimed while the queue is paused", async () => {
  const queue = "storm";
  for (let n = 0; n < 60; n++) await enqueue(database, { queue });
  let after = 0;
  await concurrently(database, 5, async (client, index) => {
    for (let round = 0; round < 8; round++) {
      if (index === 0) {
        await client.query(database.sql("select :SCHEMA.set_queue_paused($1, true)"), [queue]);
        const count = database.sql("select count(*) from :SCHEMA.job where queue = $1 and state = 'running'");
        const before = await client.query(count, [queue]);
        await client.query("select pg_sleep(0.02)");
        const now = await client.query(count, [queue]);
        if (now.rows[0].count !== before.rows[0].count) after++;
        await client.query(database.sql("select :SCHEMA.set_queue_paused($1, false)"), [queue]);
      } else {
        await client.query(database.sql("select id from :SCHEMA.admit($1, array[$2], 1)"), [
          `w${index}`,
          queue,
        ]);
      }
    }
  });
  assert.is(after, 0);
});

policy("settings are validated, and the empty name is the default queue", async () => {
  for (const [name, value, field] of [
    ["set_queue_weight", 0, "weight"],
    ["set_queue_weight", null, "weight"],
    ["set_enqueue_limit", -1, "max_unfinished_jobs"],
    ["set_history_policy", "some", "keep"],
    ["set_history_policy", null, "keep"],
    ["set_failed_retention", 0, "retention_ms"],
    ["set_archive_policy", 0, "retention_ms"],
    ["set_archive_policy", null, "retention_ms"],
    ["set_queue_paused", null, "paused"],
  ] as const) {
    const { code, fields } = await refusal(call(name, "q", value));
    assert.is(code, "HR007", name);
    assert.is(fields["field"], field, name);
    const good = { set_queue_paused: false, set_history_policy: "all" }[name as string] ?? 5;
    assert.is((await refusal(call(name, "x".repeat(256), good))).fields["field"], "queue", name);
    assert.is((await refusal(call(name, null, good))).fields["field"], "queue", name);
    await call(name, "", good);
  }
  const [row] = await query("select * from :SCHEMA.queue where queue = 'default'");
  assert.is(row?.["weight"], 5);
  assert.is(row?.["max_unfinished_jobs"], "5");
  assert.is(row?.["history"], "all");
});

policy("history keeps failures, all, or none", async () => {
  for (const [keep, expected] of [
    ["failures", ["skip"]],
    ["all", ["success", "skip"]],
    ["none", []],
  ] as const) {
    const queue = `history-${keep}`;
    await call("set_history_policy", queue, keep);
    const good = await jobIn(database, "completed", { queue });
    const bad = await jobIn(database, "archived", { queue });
    assert.equal([...(await attempts(good)), ...(await attempts(bad))], expected);
  }
});

policy("the retention of a queue covers jobs that ended badly", async () => {
  await call("set_failed_retention", "kept", 1000);
  const id = await enqueue(database, { queue: "kept" });
  await call("operator_cancel", id);
  const [row] = await query("select evict_at_ms - finalized_at_ms as ms from :SCHEMA.get_job($1)", [id]);
  assert.is(row?.["ms"], "1000");
});

policy("64 producers, limit 25: 25 in, 39 told, replays free", async () => {
  const queue = "limited";
  await call("set_enqueue_limit", queue, 25);
  const outcomes = await concurrently(database, 64, async (client, index) =>
    client
      .query(database.sql("select disposition, detail from :SCHEMA.enqueue_many($1, 'report')"), [
        JSON.stringify([{ kind: "task", queue, id: `limited-${index}` }]),
      ])
      .then(({ rows }) => rows[0]),
  );
  const inside = outcomes.filter(({ disposition }) => disposition === "inserted");
  const told = outcomes.filter(({ disposition }) => disposition === "backpressure");
  assert.equal([inside.length, told.length], [25, 39]);
  for (const { detail } of told) {
    assert.equal(detail, { queue, limit: 25, current: 25, incoming: 1 });
  }
  const [counted] = await query("select count(*) as n from :SCHEMA.job where queue = $1", [queue]);
  assert.is(counted?.["n"], "25");
  const at = outcomes.findIndex(({ disposition }) => disposition === "inserted");
  assert.is(await enqueue(database, { queue, id: `limited-${at}` }), `limited-${at}`);
  const { code, fields } = await refusal(enqueue(database, { queue }));
  assert.is(code, "HR004");
  assert.equal(fields, { queue, limit: 25, current: 25, incoming: 1 });

  await call("operator_cancel", `limited-${at}`);
  const pair = JSON.stringify([
    { kind: "task", queue },
    { kind: "task", queue },
  ]);
  assert.is((await refusal(query("select * from :SCHEMA.enqueue_many($1)", [pair]))).code, "HR004");
  await enqueue(database, { queue });
  await call("set_enqueue_limit", queue, 10);
  assert.is((await refusal(enqueue(database, { queue }))).fields["current"], 25);
  await call("set_enqueue_limit", queue, null);
  await enqueue(database, { queue });
  await call("set_enqueue_limit", queue, 0);
  assert.is((await refusal(enqueue(database, { queue }))).code, "HR004");
});

policy("without a limit, one slow transactional producer stalls nobody", async () => {
  const queue = "unlimited";
  await enqueue(database, { queue });
  const slow = await database.connect();
  await slow.query("begin");
  await slow.query(database.sql("select :SCHEMA.enqueue('slow', queue => $1)"), [queue]);
  // Nothing here may wait for a lock that the slow one holds: it would fail.
  const count = await concurrently(database, 8, async (client, index) => {
    await client.query("set lock_timeout = '5s'");
    await client.query(database.sql("select :SCHEMA.enqueue('fast', queue => $1)"), [queue]);
    const claims = await client.query(database.sql("select * from :SCHEMA.admit($1, array[$2], 1)"), [
      `w${index}`,
      queue,
    ]);
    for (const { id, lease_id, fence } of claims.rows) {
      await client.query(database.sql("select :SCHEMA.ack($1, $2, $3)"), [id, lease_id, fence]);
    }
    await client.query(database.sql("select :SCHEMA.roll_up_tallies()"));
    return claims.rowCount ?? 0;
  });
  assert.ok(count.reduce((sum, n) => sum + n, 0) >= 8);
  await slow.query("commit");
  const [depth] = await query("select :SCHEMA.queue_depth_of($1) as depth", [queue]);
  const [there] = await query("select count(*) as n from :SCHEMA.job where queue = $1", [queue]);
  assert.is(depth?.["depth"], there?.["n"]);
});

policy("a waiting producer of a limited queue is let in by a rollback", async () => {
  const queue = "one-slot";
  await call("set_enqueue_limit", queue, 1);
  const [first, second] = [await database.connect(), await database.connect()];
  await first.query("begin");
  await first.query(database.sql("select :SCHEMA.enqueue('a', queue => $1)"), [queue]);
  const waiting = second.query(database.sql("select :SCHEMA.enqueue('b', queue => $1)"), [queue]);
  await blocked(database.pool, second);
  await first.query("rollback");
  assert.is((await waiting).rowCount, 1);
  assert.is((await refusal(enqueue(database, { queue }))).code, "HR004");
});

policy(
  "ceilings set at the same time, with jobs running: each queue gets one, nobody deadlocks",
  async () => {
    const queues = ["ceiled-0", "ceiled-1"];
    for (const queue of queues) {
      for (let n = 0; n < 10; n++) await enqueue(database, { queue });
      await admit(database, { queue, capacity: 10 });
    }
    const answers = await concurrently(database, 8, async (client, index) => {
      await client.query("set deadlock_timeout = '100ms'");
      const set = client.query(database.sql("select :SCHEMA.upsert_concurrency_limit($1, $2, 3)"), [
        `ceiling-${index}`,
        queues[index % 2],
      ]);
      return set.then(
        () => "set",
        (error: { code?: string }) => error.code ?? "?",
      );
    });
    assert.equal(answers.sort(), [...Array<string>(6).fill("HR007"), "set", "set"]);
    for (const { queue, running } of await query("select queue, running from :SCHEMA.concurrency_limits()")) {
      assert.is(running, "10", String(queue));
    }
  },
);

policy("a release frees all jobs but the one whose unique key was taken", async () => {
  const queue = "parked";
  const parked: string[] = [];
  for (let n = 0; n < 40; n++) {
    parked.push(
      await enqueue(database, { queue, payload: "bad", fingerprint: "bad", unique_key: `key ${n}` }),
    );
  }
  await query(
    "insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason) values ('bad', 'task', 3, 1, '-')",
  );
  assert.is((await query("select :SCHEMA.quarantine_sweep() as n"))[0]?.["n"], "40");
  const rival = await enqueue(database, { queue, payload: "good", unique_key: "key 17" });
  assert.is((await query("select :SCHEMA.quarantine_release('bad') as n"))[0]?.["n"], "39");
  assert.is(await stateOf(database, parked[17] ?? "?"), "quarantined");
  assert.is(await stateOf(database, rival), "available");
  assert.is((await admit(database, { queue, capacity: 100 })).length, 40);
  await query("select :SCHEMA.operator_cancel($1)", [rival]);
  assert.is((await query("select :SCHEMA.quarantine_release('bad') as n"))[0]?.["n"], "1");
});

policy("pages of the quarantine list leave none out, also of one instant", async () => {
  await query(
    "insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason) " +
      "select 'f' || n, 'task', 3, n / 7, '-' from generate_series(1, 100) n",
  );
  const seen: unknown[] = [];
  let before: unknown = null;
  for (let page = 0; page < 100; page++) {
    const rows = await query(
      "select fingerprint, quarantined_at_ms as at from :SCHEMA.quarantine_list($1, 5)",
      [before],
    );
    if (rows.length === 0) break;
    seen.push(...rows.map(({ fingerprint }) => fingerprint));
    before = rows.at(-1)?.["at"];
  }
  assert.is(seen.length, 100);
  assert.is(new Set(seen).size, 100);
  await query("delete from :SCHEMA.quarantine");
});

policy.after(() => database.close());
policy.run();
