import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase } from "./support/database.js";
import { ack, admitOne, enqueue, jobIn, stateOf, states } from "./support/jobs.js";
import { blocked } from "./support/locks.js";
import { refusal } from "./support/refusal.js";

const control = suite("control of single jobs");
const database = await testDatabase();
const { query } = database;

const call = (name: string, ...values: unknown[]): Promise<unknown> =>
  query(`select :SCHEMA.${name}(${values.map((_, at) => `$${at + 1}`).join(", ")})`, values);
const row = async (id: string): Promise<Record<string, unknown>> =>
  (await query("select * from :SCHEMA.get_job($1)", [id]))[0] ?? {};

const moves: Record<string, { from: readonly string[]; to: string | undefined; args: unknown[] }> = {
  operator_retry: { from: ["archived", "cancelled", "undecodable"], to: "available", args: [] },
  operator_cancel: {
    from: ["pending", "scheduled", "available", "running", "retryable"],
    to: "cancelled",
    args: [],
  },
  promote_job: { from: ["pending"], to: "available", args: [] },
  delete_job: { from: states.filter((state) => state !== "running"), to: undefined, args: [] },
};

for (const [name, { from, to, args }] of Object.entries(moves)) {
  control(`${name} moves what it may and refuses the rest`, async () => {
    for (const state of states) {
      const id = await jobIn(database, state, { payload: { name, state } });
      assert.is(await stateOf(database, id), state, `${state} was not reached`);
      if (from.includes(state)) {
        await call(name, id, ...args);
        assert.is(await stateOf(database, id), to, `${name} from ${state}`);
      } else {
        const { code, fields } = await refusal(call(name, id, ...args));
        assert.is(code, "HR007", `${name} from ${state}`);
        assert.is(fields["field"], "state");
        assert.is(await stateOf(database, id), state);
      }
    }
  });
}

for (const [name, args] of [
  ["operator_retry", []],
  ["operator_cancel", []],
  ["promote_job", []],
  ["delete_job", []],
  ["reschedule_job", [1]],
  ["edit_payload", [Buffer.from("{}")]],
] as const) {
  control(`${name} of an unknown job is not_found, a bad id is invalid`, async () => {
    for (const id of ["nobody", "j00000000ffffffff", "jzz"]) {
      assert.equal(await refusal(call(name, id, ...args)), {
        code: "HR006",
        message: `there is no job ${id}`,
        fields: { what: "job", id },
      });
    }
    assert.is((await refusal(call(name, "", ...args))).code, "HR007");
    assert.is((await refusal(call(name, "x".repeat(256), ...args))).code, "HR007");
    assert.is((await refusal(call(name, null, ...args))).code, "HR007");
  });
}

control("a retried job is claimed again, with its attempts and its place in the counts", async () => {
  const queue = "retry";
  const id = await enqueue(database, { queue, max_attempts: 1 });
  await ack(database, await admitOne(database, { queue }), "retry", { error: "no" });
  assert.is(await stateOf(database, id), "archived");
  await call("operator_retry", id);
  const job = await row(id);
  assert.is(job["attempt"], 1);
  assert.is(job["finalized_at_ms"], null);
  assert.is(job["evict_at_ms"], null);
  const claim = await admitOne(database, { queue });
  assert.is(claim.id, id);
  assert.is(claim.fence, "2");
  await ack(database, claim, "success");
});

control("a retry wakes a sleeping worker", async () => {
  const id = await jobIn(database, "archived", { queue: "wake" });
  const listener = await database.connect();
  const heard: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload));
  const [{ channel = "" } = {}] = await query<{ channel: string }>("select :SCHEMA.channel() as channel");
  await listener.query(`listen "${channel}"`);
  await query("select :SCHEMA.declare_sleep('sleeper', '{wake}', 60000)");
  await call("operator_retry", id);
  await listener.query("select 1");
  assert.equal(heard, ["wake"]);
});

control("a retry whose unique key was taken again names the holder (R-21)", async () => {
  const first = await jobIn(database, "archived", { queue: "keys", unique_key: "k" });
  const second = await enqueue(database, { queue: "keys", unique_key: "k" });
  const taken = await refusal(call("operator_retry", first));
  assert.is(taken.code, "HR001");
  assert.equal(taken.fields, { existing_id: second, replaced: false });
  assert.is(await stateOf(database, first), "archived");
  await call("operator_cancel", second);
  await call("operator_retry", first);
  assert.is(await stateOf(database, first), "available");
  assert.is((await refusal(call("operator_retry", second))).fields["existing_id"], first);
});

control("a retry waits for a rival and succeeds where that rolls back", async () => {
  const id = await jobIn(database, "archived", { queue: "rival", unique_key: "r" });
  const rival = await database.connect();
  const operator = await database.connect();
  await rival.query("begin");
  await rival.query(
    database.sql(`select * from :SCHEMA.enqueue_many('[{"kind": "task", "unique_key": "r"}]')`),
  );
  const retried = operator.query(database.sql("select :SCHEMA.operator_retry($1)"), [id]);
  await blocked(database.pool, operator);
  await rival.query("rollback");
  await retried;
  assert.is(await stateOf(database, id), "available");
});

control(
  "a move of a job that another transaction holds fails in time, says so and changes nothing",
  async () => {
    const doors = [
      ["operator_retry", "archived"],
      ["operator_cancel", "available"],
      ["promote_job", "pending"],
      ["delete_job", "available"],
      ["reschedule_job", "scheduled", 1],
      ["edit_payload", "available", Buffer.from("{}")],
      ["backend_cancel_job_if_active", "available"],
      ["backend_revert_job_to_queued", "running"],
    ] as const;
    const jobs = new Map<string, string>();
    for (const [name, state] of doors)
      jobs.set(name, await jobIn(database, state, { queue: `held-${name}`, payload: name }));
    const id = (name: string): string => jobs.get(name) ?? "";
    const holder = await database.connect();
    await holder.query("begin");
    const held = await holder.query(
      database.sql(
        "select from :SCHEMA.job where key in (select :SCHEMA.job_key(i) from unnest($1::text[]) i) for update",
      ),
      [[...jobs.values()]],
    );
    assert.is(held.rowCount, doors.length);
    await concurrently(database, doors.length, async (client, index) => {
      const [name, state, ...args] = doors[index]!;
      const values = [id(name), ...args];
      const text = `select :SCHEMA.${name}(${values.map((_, at) => `$${at + 1}`).join(", ")})`;
      assert.equal(await refusal(client.query(database.sql(text), values)), {
        code: "55P03",
        message: `job ${id(name)} is held by another transaction`,
        fields: {},
      });
      assert.is(await stateOf(database, id(name)), state);
    });
    await holder.query("rollback");
    for (const [name, , ...args] of doors) {
      if (name === "backend_revert_job_to_queued") continue;
      await call(name, id(name), ...args);
    }
  },
);

control("a retry whose unique key an open transaction has taken fails in time", async () => {
  const id = await jobIn(database, "archived", { queue: "open", unique_key: "open" });
  const rival = await database.connect();
  await rival.query("begin");
  await rival.query(
    database.sql(`select * from :SCHEMA.enqueue_many('[{"kind": "task", "unique_key": "open"}]')`),
  );
  const { code, message } = await refusal(call("operator_retry", id));
  assert.is(code, "55P03");
  assert.match(message, /another transaction holds the unique key/);
  assert.is(await stateOf(database, id), "archived");
  await rival.query("rollback");
  await call("operator_retry", id);
  assert.is(await stateOf(database, id), "available");
});

control("cancelling a running job fences its holder off and keeps the history", async () => {
  const queue = "cancel";
  const id = await enqueue(database, { queue });
  const claim = await admitOne(database, { queue, worker: "holder" });
  await call("operator_cancel", id);
  const job = await row(id);
  assert.is(job["lease_id"], null);
  assert.is(job["claimed_at_ms"], null);
  assert.type(job["evict_at_ms"], "string");
  for (const outcome of ["success", "retry", "rate_limited"]) {
    assert.is((await refusal(ack(database, claim, outcome))).code, "HR005");
  }
  assert.is((await refusal(call("release", claim.id, claim.lease_id, claim.fence))).code, "HR005");
  assert.equal(
    await query("select :SCHEMA.renew($1, 1000) as lost", [
      JSON.stringify([{ job_id: id, lease_id: claim.lease_id, fence: claim.fence }]),
    ]),
    [{ lost: id }],
  );
  const attempts = await query("select outcome, worker, attempt from :SCHEMA.list_attempts($1)", [id]);
  assert.equal(attempts, [{ outcome: "cancelled", worker: "holder", attempt: 1 }]);
});

control("cancel against ack: exactly one wins and the other knows (R-96)", async () => {
  const queue = "race";
  const rounds = 40;
  let cancelled = 0;
  for (let round = 0; round < rounds; round++) {
    const id = await enqueue(database, { queue, retention_ms: 3_600_000 });
    const claim = await admitOne(database, { queue });
    const outcome = ["success", "retry", "rate_limited", "complete"][round % 4] ?? "success";
    const results = await concurrently(database, 2, async (client, index) => {
      const end =
        outcome === "complete" ? ":SCHEMA.complete($1, $2, $3)" : `:SCHEMA.ack($1, $2, $3, '${outcome}')`;
      const text = index === 0 ? ":SCHEMA.operator_cancel($1)" : end;
      const values = index === 0 ? [id] : [id, claim.lease_id, claim.fence];
      return client.query(database.sql(`select ${text}`), values).then(
        () => "done",
        (error: { code?: string }) => error.code ?? "?",
      );
    });
    const state = await stateOf(database, id);
    if (outcome === "success" || outcome === "complete") {
      assert.ok(["done,HR005", "HR007,done"].includes(results.join()), results.join());
      assert.is(state, results[0] === "done" ? "cancelled" : "completed");
    } else {
      // After a retry or a hand-back the job is unfinished, so the cancel that comes second still finds it.
      assert.ok(["done,HR005", "done,done"].includes(results.join()), results.join());
      assert.is(state, "cancelled");
    }
    if (state === "cancelled") cancelled++;
  }
  assert.ok(cancelled > 0);
});

control("cancel against reclaim: the job is cancelled once and nothing revives it (R-96)", async () => {
  const queue = "reclaimed";
  for (let round = 0; round < 10; round++) {
    const id = await enqueue(database, { queue });
    await admitOne(database, { queue, leaseMs: 1 });
    await query("select pg_sleep(0.005)");
    await concurrently(database, 2, (client, index) =>
      client.query(
        database.sql(
          index === 0
            ? "select :SCHEMA.operator_cancel($1)"
            : "select count(*) from :SCHEMA.reclaim_expired()",
        ),
        index === 0 ? [id] : [],
      ),
    );
    assert.is(await stateOf(database, id), "cancelled");
  }
});

control("a lease of its own goes with the cancelled job", async () => {
  const queue = "ceiling";
  const id = await enqueue(database, { queue });
  await admitOne(database, { queue });
  // As the gate writes it for a job under a ceiling.
  await query(
    "update :SCHEMA.lease set queue = $1, partition_key = '' where lease_no = " +
      "(select lease_no from :SCHEMA.job where key = :SCHEMA.job_key($2))",
    [queue, id],
  );
  await call("operator_cancel", id);
  assert.equal(await query("select from :SCHEMA.lease where queue = $1", [queue]), []);
});

control("a promoted job is claimed; only its state and time change", async () => {
  const queue = "promote";
  const id = await enqueue(database, { queue, pending: true, priority: 3 });
  await call("promote_job", id);
  const claim = await admitOne(database, { queue });
  assert.is(claim.id, id);
  await ack(database, claim, "success");
});

control("delete_job takes checkpoint, result and history along", async () => {
  const queue = "delete";
  const id = await enqueue(database, { queue });
  const claim = await admitOne(database, { queue });
  await call("checkpoint", id, claim.lease_id, claim.fence, '{"completed": ["a"]}');
  await ack(database, claim, "retry", { error: "no" });
  assert.is(
    (await query("select from :SCHEMA.job_extra x where x.key = :SCHEMA.job_key($1)", [id])).length,
    1,
  );
  assert.is((await query("select from :SCHEMA.attempt a where a.job_id = $1", [id])).length, 1);
  await call("delete_job", id);
  assert.is((await query("select from :SCHEMA.job_extra x")).length, 0);
  assert.is((await query("select from :SCHEMA.attempt a where a.job_id = $1", [id])).length, 0);
});

control("reschedule_job sets the time of a waiting job only, and no time is not the epoch", async () => {
  for (const state of states) {
    const id = await jobIn(database, state, { payload: { reschedule: state } });
    if (["scheduled", "retryable"].includes(state)) {
      const { code, fields } = await refusal(call("reschedule_job", id, null));
      assert.is(code, "HR007");
      assert.is(fields["field"], "at_ms");
      await call("reschedule_job", id, 4_000_000_000_000);
      const job = await row(id);
      assert.is(job["scheduled_at_ms"], "4000000000000");
      assert.is(job["state"], state);
    } else {
      assert.is((await refusal(call("reschedule_job", id, 4_000_000_000_000))).code, "HR007", state);
    }
  }
  const id = await jobIn(database, "scheduled", { queue: "again" });
  await call("reschedule_job", id, 1);
  assert.is((await admitOne(database, { queue: "again" })).id, id);
  for (const at of [0, -1, "315576000000001"]) {
    assert.is((await refusal(call("reschedule_job", id, at))).code, "HR007");
  }
});

control("edit_payload keeps the bytes, derives the fingerprint, and leaves running jobs alone", async () => {
  const bytes = Buffer.from('{"id":1970670598291982290,"x":1e400,"a":1, "a":2}');
  for (const state of states) {
    const id = await jobIn(database, state, { payload: { edit: state }, fingerprint: `fp-${state}` });
    if (state === "running") {
      assert.is((await refusal(call("edit_payload", id, bytes))).code, "HR007");
      continue;
    }
    await call("edit_payload", id, bytes, 7);
    const [job] = await query<{
      payload: Buffer;
      schema_version: number;
      fingerprint: string;
      state: string;
    }>("select payload, schema_version, fingerprint, state from :SCHEMA.get_job($1, true)", [id]);
    assert.equal(job?.payload, bytes);
    assert.is(job?.schema_version, 7);
    assert.is(job?.state, state);
    const [expected] = await query<{ f: string }>("select :SCHEMA.fingerprint('task', $1) as f", [bytes]);
    assert.is(job?.fingerprint, expected?.f);
    await call("edit_payload", id, bytes, null, "mine");
    assert.is((await row(id))["fingerprint"], "mine");
    assert.is((await row(id))["schema_version"], 7);
  }
  const id = await jobIn(database, "archived");
  assert.is((await refusal(call("edit_payload", id, Buffer.alloc(1_048_577)))).code, "HR007");
  await call("edit_payload", id, Buffer.alloc(1_048_576));
  assert.is((await refusal(call("edit_payload", id, null))).code, "HR007");
  assert.is((await refusal(call("edit_payload", id, bytes, 0))).code, "HR007");
  assert.is((await refusal(call("edit_payload", id, bytes, 1, ""))).code, "HR007");
});

control("a move waits for another one and decides from what that left", async () => {
  const id = await jobIn(database, "archived");
  const [first, second] = [await database.connect(), await database.connect()];
  await first.query("begin");
  await first.query(database.sql("select :SCHEMA.operator_retry($1)"), [id]);
  const late = refusal(second.query(database.sql("select :SCHEMA.operator_retry($1)"), [id]));
  await blocked(database.pool, second);
  await first.query("commit");
  assert.is((await late).code, "HR007");
  assert.is(await stateOf(database, id), "available");
});

control.after(() => database.close());
control.run();
