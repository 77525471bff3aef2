import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";
import { concurrently } from "../support/concurrently.js";
import { blocked } from "../support/locks.js";
import { refusal } from "../support/refusal.js";
import { gate, tally } from "./support.js";

const policies = suite("quarantine, pins, pauses, deadlines, and why a job does not run");
const database = await testDatabase();
const { query } = database;
const { admit, enqueue, ack, moveClock, reset, one } = gate(database);
policies.before.each(reset);
policies.after(() => database.close());

const explain = async (id: string) => (await query("select * from :SCHEMA.explain_admission($1)", [id]))[0];
const state = (id: string) => one<string>("select state::text from :SCHEMA.jobs where id = $1", [id]);

/** Claims whatever is first and lets its lease run out. */
async function crash(): Promise<string> {
  const { claims } = await admit({ capacity: 1, leaseMs: 1000 });
  await moveClock(1001);
  const [row] = await query<{ id: string }>("select id from :SCHEMA.reclaim_expired()");
  assert.is(row?.id, claims[0]?.id);
  await moveClock(60_000);
  return row!.id;
}

policies(
  "the third crash quarantines the content: refused, swept into sight, released by an operator",
  async () => {
    const [poison] = await enqueue(1, { kind: "poison", payload: { n: 1 }, max_attempts: 1 });
    assert.is(await crash(), poison);
    assert.is(await crash(), poison);
    assert.equal(
      await state(poison!),
      "retryable",
      "two crashes spend no attempt, not even with max_attempts 1",
    );
    const [twin] = await enqueue(1, { kind: "poison", payload: { n: 1 } });
    const [later] = await enqueue(1, { kind: "poison", payload: { n: 1 }, delay_ms: 3_600_000 });
    assert.is(await crash(), poison);
    assert.is(await state(poison!), "quarantined");

    const refused = await refusal(enqueue(1, { kind: "poison", payload: { n: 1 } }));
    assert.is(refused.code, "HR003");
    await enqueue(1, { kind: "poison", payload: { n: 2 }, pending: true });
    const answer = await admit();
    assert.equal([answer.claims.length, answer.refused], [0, { quarantine: 1 }]);
    assert.is(await state(twin!), "quarantined", "met at the gate, it is moved where it can be seen");
    assert.is((await explain(later!))!["reason"], "schedule");
    assert.is(await one<string>("select :SCHEMA.quarantine_sweep(1000)"), "1");
    assert.is(await state(later!), "quarantined");
    assert.is((await explain(later!))!["reason"], "quarantined");

    const [entry] = await query("select * from :SCHEMA.quarantine_list()");
    assert.equal([entry!["kind"], entry!["crash_count"], entry!["jobs"]], ["poison", 3, "3"]);
    assert.is((entry!["sample_payload"] as Buffer).toString(), '{"n":1}');
    await moveClock(400 * 86_400_000);
    await query("select :SCHEMA.evict_retained(1000)");
    assert.is(await state(poison!), "quarantined", "retention does not touch it");

    const fingerprint = entry!["fingerprint"];
    assert.is(await one<string>("select :SCHEMA.quarantine_release($1)", [fingerprint]), "3");
    assert.is(refused.fields["fingerprint"], fingerprint);
    assert.is((await refusal(query("select :SCHEMA.quarantine_release($1)", [fingerprint]))).code, "HR006");
    await enqueue(1, { kind: "poison", payload: { n: 1 } });
    assert.is(await crash(), poison);
    assert.is(await state(poison!), "quarantined", "one more crash is enough after a release");
  },
);

policies("a release leaves a job whose unique key was taken where it is, and frees the others", async () => {
  const keyed = { kind: "k", payload: { bad: true }, unique_key: "the key" };
  const [holder] = await enqueue(1, keyed);
  for (let n = 0; n < 3; n++) await crash();
  assert.is(await state(holder!), "quarantined");
  const [other] = await enqueue(1, { kind: "k", payload: { bad: false }, unique_key: "the key" });
  await query("update :SCHEMA.quarantine set swept_key = 0");
  const fingerprint = await one("select fingerprint from :SCHEMA.quarantine");
  assert.is(await one<string>("select :SCHEMA.quarantine_release($1)", [fingerprint]), "0");
  assert.equal([await state(holder!), await state(other!)], ["quarantined", "available"]);
});

policies("a crash suspect goes behind its siblings", async () => {
  const [suspect] = await enqueue(1);
  await admit({ capacity: 1, leaseMs: 1000 });
  await enqueue(1, { kind: "sibling" });
  await moveClock(1001);
  await query("select * from :SCHEMA.reclaim_expired()");
  await moveClock(10_000);
  const { claims } = await admit();
  assert.equal(
    claims.map((claim) => claim.kind),
    ["sibling", "work"],
  );
  assert.is(claims[1]!.id, suspect);
});

policies("a sticky job goes to its worker only, in its place among the others", async () => {
  await enqueue(1, { kind: "mine", sticky_worker: "w1" });
  await enqueue(1, { kind: "anybody" });
  await enqueue(500, { kind: "theirs", sticky_worker: "gone", priority: 9 });
  assert.equal(
    (await admit({ worker: "w2" })).claims.map((claim) => claim.kind),
    ["anybody"],
  );
  await enqueue(1, { kind: "anybody" });
  assert.equal(
    (await admit({ worker: "w1" })).claims.map((claim) => claim.kind),
    ["mine", "anybody"],
  );
});

policies("no claim of a paused queue commits after the pause returned", async () => {
  await enqueue(10, { queue: "q" });
  const client = await database.connect();
  await client.query("begin");
  const { claims } = await admit({ client, queues: ["q"], capacity: 2 });
  assert.is(claims.length, 2);
  const pauser = await database.connect();
  const pausing = pauser.query(database.sql("select :SCHEMA.set_queue_paused('q', true)"));
  await blocked(database.pool, pauser);
  await client.query("commit");
  await pausing;
  assert.is((await admit({ queues: ["q"] })).claims.length, 0);
  assert.is(await ack(claims), 0, "what runs may finish");
  const [waiting] = await query<{ id: string }>(
    "select id from :SCHEMA.jobs where state = 'available' limit 1",
  );
  assert.is((await explain(waiting!.id))!["reason"], "paused");
  await query("select :SCHEMA.set_queue_paused('q', false)");
  assert.is((await admit({ queues: ["q"] })).claims.length, 8);
  await client.end();
  await pauser.end();
});

policies(
  "a job past its deadline is archived by the gate and by the sweep, by the store's clock",
  async () => {
    const now = Number(await one("select :SCHEMA.now_ms()"));
    const [late, waiting, fine] = [
      (await enqueue(1, { deadline_ms: now + 1000 }))[0]!,
      (await enqueue(1, { deadline_ms: now + 1000, delay_ms: 3_600_000 }))[0]!,
      (await enqueue(1, { deadline_ms: now + 100_000 }))[0]!,
    ];
    await moveClock(2000);
    assert.is((await explain(late))!["reason"], "deadline");
    const answer = await admit();
    assert.equal(
      answer.claims.map((claim) => claim.id),
      [fine],
    );
    assert.equal(answer.refused, { deadline: 1 });
    assert.is(await state(late), "archived");
    assert.is(await one<string>("select :SCHEMA.expire_deadlines(10)"), "1");
    assert.is(await state(waiting), "archived");
    const [attempt] = await query("select outcome from :SCHEMA.list_attempts($1)", [waiting]);
    assert.is(attempt!["outcome"], "deadline_passed");
  },
);

policies("explain_admission says what the gate would", async () => {
  assert.is(await explain("nobody"), undefined);
  const [scheduled] = await enqueue(1, { delay_ms: 60_000 });
  const waiting = (await explain(scheduled!))!;
  assert.equal([waiting["reason"], waiting["admissible"]], ["schedule", false]);
  await query("select :SCHEMA.upsert_rate_class('r', 1, 10000, 1)");
  const ids = await enqueue(3, { rate_class: "r" });
  assert.is((await explain(ids[0]!))!["admissible"], true);
  const before = Number(await one("select :SCHEMA.now_ms()"));
  await admit();
  const after = Number(await one("select :SCHEMA.now_ms()"));
  const second = (await explain(ids[1]!))!;
  const third = (await explain(ids[2]!))!;
  assert.equal([second["reason"], second["position_in_line"]], ["rate_class", 1]);
  assert.equal([third["reason"], third["position_in_line"]], ["rate_class", 2]);
  for (const [held, wait] of [
    [second, 10_000],
    [third, 20_000],
  ] as const) {
    const chargedMs = Number(held["eta_ms"]) - wait;
    assert.ok(before <= chargedMs && chargedMs <= after, `${before} <= ${chargedMs} <= ${after}`);
  }
  await moveClock(Number(second["eta_ms"]) - Number(await one("select :SCHEMA.now_ms()")) + 1);
  assert.equal(
    (await admit()).claims.map((claim) => claim.id),
    [ids[1]],
    "the estimate holds",
  );
  // Nothing gathers beyond the burst while a class is deferred: from its end on they come one by one.
  await query(
    "select :SCHEMA.upsert_rate_class('late', 1, 10000, 1), :SCHEMA.defer_rate_class('late', 60000)",
  );
  const late = await enqueue(2, { queue: "late", rate_class: "late" });
  const from = Number(await one("select deferred_until_ms from :SCHEMA.rate_class where name = 'late'"));
  const etas = [];
  for (const id of late) etas.push(Number((await explain(id))!["eta_ms"]) - from);
  assert.equal(etas, [0, 10_000]);
});

policies("refusals are counted by reason in the answer, and by the minute for the queue", async () => {
  await query("select :SCHEMA.upsert_rate_class('r', 1, 3600000, 1)");
  await query("select :SCHEMA.upsert_concurrency_limit('c', 'c', 1)");
  await enqueue(4, { queue: "r", rate_class: "r" });
  await enqueue(2, { queue: "c" });
  const first = await admit({ queues: ["r", "c"] });
  assert.equal(tally(first.claims.map((claim) => claim.queue)), { c: 1, r: 1 });
  assert.equal(first.refused, { concurrency_limit: 1, rate_class: 3 });
  assert.equal((await admit({ queues: ["r", "c"] })).refused, { concurrency_limit: 1, rate_class: 3 });
  await query("select :SCHEMA.roll_up_tallies()");
  const minutes = await query(
    "select queue, refused from :SCHEMA.queue_minute where refused <> '{}' order by queue",
  );
  assert.equal(minutes, [
    { queue: "c", refused: { concurrency_limit: 2 } },
    { queue: "r", refused: { rate_class: 6 } },
  ]);
  assert.equal(
    (await admit({ queues: ["r", "c"] })).refused,
    { concurrency_limit: 1, rate_class: 1 },
    "where limits bite, lines are looked at before jobs are drawn",
  );
});

policies("next_due_ms is when the next job falls due", async () => {
  assert.is((await admit()).nextDueMs, undefined);
  const [id] = await enqueue(1, { delay_ms: 5000 });
  const due = Number(await one("select scheduled_at_ms from :SCHEMA.get_job($1)", [id]));
  assert.is((await admit()).nextDueMs, due);
  assert.is((await admit({ queues: ["other"] })).nextDueMs, undefined);
  await moveClock(5000);
  assert.equal(
    (await admit()).claims.map((claim) => claim.id),
    [id],
    "and then the gate itself brings it in",
  );
});

policies("a call that holds one rate class never waits for another (rounds after the first)", async () => {
  // The dear job is drawn first and refused; only then is the other class asked for.
  await query(
    "select :SCHEMA.upsert_rate_class('b', 1, 3600000, 2), :SCHEMA.upsert_rate_class('a', 100, 1000)",
  );
  await enqueue(1, { rate_class: "b", priority: 9 });
  assert.is((await admit({ capacity: 1 })).claims.length, 1);
  await enqueue(1, { rate_class: "b", priority: 9, weight: 2 });
  const [cheap] = await enqueue(1, { rate_class: "a" });
  const other = await database.pool.connect();
  try {
    await other.query("begin");
    await other.query(database.sql("select from :SCHEMA.rate_class where name = 'a' for update"));
    const busy = await admit({ capacity: 1 });
    assert.equal([busy.claims, busy.refused], [[], { rate_class: 2 }]);
  } finally {
    await other.query("rollback");
    other.release();
  }
  assert.equal(
    (await admit({ capacity: 1 })).claims.map(({ id }) => id),
    [cheap],
  );
});

policies("gates over several queues, classes and ceilings never deadlock", async () => {
  for (const name of ["a", "b"]) await query("select :SCHEMA.upsert_rate_class($1, 1000, 1000, 7)", [name]);
  for (const queue of ["q1", "q2", "q3"])
    await query("select :SCHEMA.upsert_concurrency_limit($1, $1, 3)", [queue]);
  for (const queue of ["q1", "q2", "q3", "q4"])
    for (const rate_class of ["a", "b"])
      for (const partition_key of ["x", "y"]) {
        await enqueue(20, { queue, rate_class, partition_key, priority: 1, weight: 3 });
        await enqueue(20, { queue, partition_key });
      }
  let claimed = 0;
  await concurrently(database, 8, async (client, index) => {
    for (let round = 0; round < 40; round++) {
      const { claims } = await admit({
        client,
        worker: `w${index}`,
        queues: index % 2 ? ["q1", "q2", "q3", "q4"] : ["q4", "q3", "q2", "q1"],
        capacity: 5,
      });
      claimed += claims.length;
      await ack(claims);
    }
  });
  assert.ok(claimed > 100, `only ${claimed} claimed`);
});

policies.run();
