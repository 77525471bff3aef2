import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
import { ack, admit, admitOne, enqueue, enqueueAll, jobIn, moveClock, states } from "./support/jobs.js";
import { backendPid, blocked } from "./support/locks.js";
import { refusal } from "./support/refusal.js";

const inspect = suite("inspection");
const database = await testDatabase();
const { query } = database;
const call = (name: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  query(`select * from :SCHEMA.${name}(${values.map((_, at) => `$${at + 1}`).join(", ")})`, values);

inspect("checkpoint, output, progress and result are read by functions of their own", async () => {
  const queue = "extras";
  const id = await enqueue(database, { queue, retention_ms: 60_000 });
  for (const name of ["checkpoint", "output", "progress", "result"]) {
    assert.equal(await call(`get_job_${name}`, "nobody"), [], name);
    assert.is((await refusal(call(`get_job_${name}`, ""))).code, "HR007", name);
  }
  assert.equal(await call("get_job_checkpoint", id), [{ checkpoint: { completed: [] }, cursor: null }]);
  for (const name of ["output", "progress", "result"]) assert.equal(await call(`get_job_${name}`, id), []);

  const first = await admitOne(database, { queue });
  const held = [id, first.lease_id, first.fence];
  const [output] = await call("write_job_output", ...held, 2, Buffer.from([0, 1, 2]));
  assert.is(output?.["written_fence"], "1");
  const [progress] = await call("write_job_progress", ...held, 3, "9007199254740991", "half-way ü");
  assert.is(progress?.["written_fence"], "1");
  await call("write_job_progress", ...held, 0, 10);
  await query("select :SCHEMA.checkpoint($1, $2, $3, $4, $5)", [
    ...held,
    JSON.stringify({ completed: ["a"], in_progress: "b" }),
    Buffer.from("cursor"),
  ]);
  await ack(database, first, "retry", { delayMs: 0 });
  const [kept] = await call("get_job_output", id);
  assert.equal(
    [kept?.["schema_version"], kept?.["bytes"], kept?.["fence"]],
    [2, Buffer.from([0, 1, 2]), "1"],
  );
  assert.equal((await call("get_job_progress", id))[0]?.["message"], null);
  assert.equal(await call("get_job_checkpoint", id), [
    { checkpoint: { completed: ["a"], in_progress: "b" }, cursor: Buffer.from("cursor") },
  ]);

  const second = await admitOne(database, { queue });
  // The former holder, and the present lease with a wrong fence.
  for (const stale of [held, [id, second.lease_id, first.fence], [id, "other", second.fence]]) {
    assert.is((await refusal(call("write_job_output", ...stale, 1, Buffer.from("x")))).code, "HR005");
    assert.is((await refusal(call("write_job_progress", ...stale, 1, 2))).code, "HR005");
  }
  await call("write_job_output", id, second.lease_id, second.fence, 1, Buffer.from("new"));
  assert.is((await call("get_job_output", id))[0]?.["fence"], "2");
  await query("select :SCHEMA.ack_success_with_result($1, $2, $3, null, null, 4, $4)", [
    id,
    second.lease_id,
    second.fence,
    Buffer.from("done"),
  ]);
  assert.equal(await call("get_job_result", id), [{ schema_version: 4, bytes: Buffer.from("done") }]);
  assert.is(
    (await refusal(call("write_job_output", id, second.lease_id, second.fence, 1, "x"))).code,
    "HR005",
  );
});

inspect("output and progress have their limits", async () => {
  const queue = "limits";
  const id = await enqueue(database, { queue });
  const { lease_id, fence } = await admitOne(database, { queue });
  for (const [current, total, message] of [
    [1, 0, null],
    [-1, 2, null],
    [3, 2, null],
    [1, "9007199254740992", null],
    [null, 2, null],
    [1, null, null],
    [1, 2, "x".repeat(513)],
  ]) {
    const { code } = await refusal(call("write_job_progress", id, lease_id, fence, current, total, message));
    assert.is(code, "HR007", `${current} of ${total}`);
  }
  for (const [version, bytes] of [
    [0, Buffer.from("x")],
    [null, Buffer.from("x")],
    [1, null],
    [1, Buffer.alloc(33_554_433)],
  ]) {
    assert.is((await refusal(call("write_job_output", id, lease_id, fence, version, bytes))).code, "HR007");
  }
  await call("write_job_progress", id, lease_id, fence, 2, 2, "x".repeat(512));
});

inspect("list_jobs finds by each field, pages newest first, and refuses what it does not know", async () => {
  const jobs: { id: string; state: string }[] = [];
  for (const state of states) {
    for (const part of ["a", ""]) {
      const id = await jobIn(database, state, {
        kind: `list:${state}`,
        partition_key: part,
        payload: { list: state, part },
        priority: part === "a" ? 5 : -5,
        rate_class: part === "a" ? "smtp" : "",
        tags: ["all", `is-${state}`, ...(part === "a" ? ["a"] : [])],
      });
      jobs.push({ id, state });
    }
  }
  const newest = jobs.map(({ id }) => id).reverse();
  const find = async (filter: Record<string, unknown>): Promise<unknown[]> => {
    const found: unknown[] = [];
    let cursor: unknown = null;
    for (;;) {
      const rows = await call("list_jobs", JSON.stringify(filter), cursor, 3);
      found.push(...rows.filter((row) => row["id"] !== null).map((row) => row["id"]));
      const last = rows.at(-1);
      if (rows.length < 3 && (last === undefined || last["id"] !== null)) return found;
      cursor = last?.["cursor"];
    }
  };
  const only = (keep: (state: string, at: number) => boolean): string[] =>
    newest.filter((_, at) => {
      const index = jobs.length - 1 - at;
      return keep(jobs[index]?.state ?? "", index);
    });
  assert.equal(await find({ kind_prefix: "list:" }), newest);
  assert.equal(await find({ tags_all: ["all"] }), newest);
  assert.equal(
    await find({ tags_all: ["all", "a"] }),
    only((_, at) => at % 2 === 0),
  );
  assert.equal(
    await find({ tags_any: ["is-archived", "is-running"] }),
    only((s) => s === "archived" || s === "running"),
  );
  assert.equal(
    await find({ rate_class: "smtp", kind_prefix: "list:" }),
    only((_, at) => at % 2 === 0),
  );
  assert.equal(
    await find({ partition_key: "", kind_prefix: "list:" }),
    only((_, at) => at % 2 === 1),
  );
  assert.equal(
    await find({ priority: -5 }),
    only((_, at) => at % 2 === 1),
  );
  for (const state of states) {
    assert.equal(
      await find({ kind: `list:${state}` }),
      only((s) => s === state),
      state,
    );
    assert.equal(
      await find({ state, kind_prefix: "list:" }),
      only((s) => s === state),
      state,
    );
    assert.equal(
      await find({ state, kind: `list:${state}`, partition_key: "a" }),
      only((s, at) => s === state && at % 2 === 0),
    );
    const own = jobs.find((job) => job.state === state)?.id ?? "";
    const [job] = await call("get_job", own);
    assert.equal(await find({ queue: job?.["queue"], state }), [own]);
    assert.equal(await find({ queue: job?.["queue"] }), [own]);
    assert.equal(await find({ id: own }), [own]);
    assert.equal(await find({ fingerprint: job?.["fingerprint"] }), [own]);
  }
  assert.equal(await find({ state: "running", kind: "nothing" }), []);
  for (const [filter, cursor, rows, field] of [
    [{ stat: "x" }, null, 10, "filter"],
    [{ state: "gone" }, null, 10, "state"],
    [{ queue: null }, null, 10, "queue"],
    [{}, "x", 10, "cursor"],
    [{}, "-1", 10, "cursor"],
    [{}, null, 0, "max_rows"],
    [{}, null, 201, "max_rows"],
  ] as const) {
    const { code, fields } = await refusal(call("list_jobs", JSON.stringify(filter), cursor, rows));
    assert.is(code, "HR007");
    assert.is(fields["field"], field);
  }
  const [row] = await call("list_jobs", "{}", null, 1);
  assert.equal([row?.["payload"], row?.["headers"]], [null, null]);
});

inspect("counts agree with what there is", async () => {
  const counts = async (queue: string | null): Promise<Record<string, number>> =>
    Object.fromEntries((await call("counts", queue)).map(({ state, jobs }) => [String(state), Number(jobs)]));
  const all = await counts(null);
  const rows = await query("select state, count(*)::int as n from :SCHEMA.job group by state");
  for (const { state, n } of rows) assert.is(all[String(state)], n, String(state));
  assert.is(Object.keys(all).length, 10);
  const queue = "counted";
  for (const state of states)
    await jobIn(database, state, { queue: `${queue}-${state}`, payload: { counted: state } });
  for (const state of states) {
    const one = await counts(`${queue}-${state}`);
    assert.is(one[state], 1, state);
    assert.is(
      Object.values(one).reduce((sum, n) => sum + n),
      1,
      state,
    );
  }
  assert.ok((await call("counts", null)).every(({ approximate }) => approximate === false));
});

inspect("queue_stats: depth, rates, waits, quiet groups", async () => {
  const queue = "stats";
  await query("select :SCHEMA.set_enqueue_limit($1, 1000)", [queue]);
  await query("select :SCHEMA.set_queue_weight($1, 3)", [queue]);
  const stats = async (): Promise<Record<string, unknown>> =>
    (await query("select * from :SCHEMA.queue_stats() where queue = $1", [queue]))[0] ?? {};
  assert.is((await stats())["depth"], "0");
  assert.is((await stats())["time_to_drain_ms"], "0");
  await enqueueAll(
    database,
    Array.from({ length: 30 }, () => ({ queue, partition_key: "loud" })),
  );
  await moveClock(database, 5000);
  await enqueueAll(
    database,
    Array.from({ length: 2 }, () => ({ queue, partition_key: "quiet" })),
  );
  await jobIn(database, "scheduled", { queue });
  let now = await stats();
  assert.equal(
    [now["depth"], now["max_unfinished_jobs"], now["weight"], now["paused"]],
    ["33", "1000", 3, false],
  );
  assert.equal(now["by_state"], { available: 32, scheduled: 1 });
  assert.is(now["approximate"], false);
  assert.is(now["time_to_drain_ms"], null);
  assert.ok(Number(now["arrival_per_s"]) > 0);
  assert.is(Number(now["drain_per_s"]), 0);
  assert.ok(Number(now["oldest_available_ms"]) >= 5000);
  assert.is(now["quiet_partitions"], "1");
  assert.ok(Number(now["oldest_available_ms"]) - Number(now["quiet_oldest_ms"]) >= 5000);
  assert.is(now["memory_bytes"], null);

  for (const claim of await admit(database, { queue, capacity: 20 })) await ack(database, claim, "success");
  await query("select :SCHEMA.roll_up_tallies(10000)");
  await moveClock(database, 120_000);
  // Nothing arrives any more, and what is done now drains the queue.
  for (const claim of await admit(database, { queue, capacity: 6 })) await ack(database, claim, "success");
  now = await stats();
  assert.is(now["depth"], "7");
  assert.is(Number(now["arrival_per_s"]), 0);
  assert.ok(Number(now["drain_per_s"]) > 0);
  const expected = (7 / Number(now["drain_per_s"])) * 1000;
  assert.ok(Math.abs(Number(now["time_to_drain_ms"]) - expected) < expected / 10);
  await query("select :SCHEMA.sample_queue_memory(10)");
  now = await stats();
  assert.ok(Number(now["memory_bytes"]) > 7 * 50);
  assert.is(now["sampled_jobs"], 7);
  for (const rows of [0, 1001]) {
    assert.is((await refusal(query("select :SCHEMA.sample_queue_memory($1)", [rows]))).code, "HR007");
  }
});

inspect("history: buckets of what came and went, rolled up or not", async () => {
  const queue = "hist";
  const [clock] = await query("select :SCHEMA.now_ms() as ms");
  const since = Number(clock?.["ms"]) - 60_000;
  await enqueueAll(
    database,
    Array.from({ length: 6 }, () => ({ queue })),
  );
  const [first, second, third] = await admit(database, { queue, capacity: 3 });
  if (!first || !second || !third) throw new Error("three were to be admitted");
  await ack(database, first, "success");
  await ack(database, second, "retry");
  await ack(database, third, "skip");
  const total = async (name: string, bucket = 3_600_000): Promise<number> =>
    (await call("history", name, since, bucket)).reduce((sum, row) => sum + Number(row["drained"]), 0);
  assert.is(await total(queue), 2);
  await query("select :SCHEMA.roll_up_tallies(10000)");
  assert.is(await total(queue), 2);
  const [row] = (await call("history", queue, since, 3_600_000)).slice(-1);
  assert.is(Number(row?.["failed"]) + Number(row?.["completed"]) > 0, true);
  const minutes = await call("history", queue, since, 60_000);
  assert.ok(minutes.every(({ bucket_start_ms }) => Number(bucket_start_ms) % 60_000 === 0));
  assert.ok((await call("history", null, since, 60_000)).length > 0);
  assert.equal(await call("history", "nothing", since, 60_000), []);
  for (const [at, bucket] of [
    [since, 59_999],
    [since, null],
    [null, 60_000],
    [-1, 60_000],
  ]) {
    assert.is((await refusal(call("history", queue, at, bucket))).code, "HR007");
  }
});

inspect("distinct_kinds names what waits", async () => {
  await enqueue(database, { queue: "kinds", kind: "kinds:one", partition_key: "x" });
  await enqueue(database, { queue: "kinds", kind: "kinds:two", delay_ms: 60_000 });
  await jobIn(database, "completed", { kind: "kinds:three" });
  const kinds = (await call("distinct_kinds", 5000)).map((row) => String(row["distinct_kinds"]));
  assert.ok(kinds.includes("kinds:one"));
  assert.ok(kinds.includes("kinds:two"));
  assert.ok(!kinds.includes("kinds:three"));
  const inQueues = async (...queues: string[]): Promise<string[]> =>
    (await call("distinct_kinds", 5000, queues)).map((row) => String(row["distinct_kinds"]));
  assert.equal(await inQueues("kinds", "kinds", "none"), ["kinds:one", "kinds:two"]);
  assert.equal(await inQueues("none"), []);
  assert.equal(await inQueues(), []);
  assert.is((await refusal(call("distinct_kinds", 0))).code, "HR007");
  assert.is((await refusal(call("distinct_kinds", 1, Array.from({ length: 1001 }, String)))).code, "HR007");
});

inspect("metrics holds what an exporter needs, each once", async () => {
  await query("select :SCHEMA.heartbeat_worker('m1', concurrency => 4, inflight => 1)");
  await query("select * from :SCHEMA.run_duties('m1')");
  const rows = await call("metrics");
  const names = new Set(rows.map(({ name }) => String(name)));
  for (const name of [
    "queue_depth",
    "queue_limit",
    "queue_jobs",
    "queue_oldest_available_seconds",
    "queue_arrival_per_second",
    "queue_drain_per_second",
    "workers",
    "worker_capacity",
    "duty_success_age_seconds",
    "duty_failures",
    "notification_queue_usage",
    "leases",
    "uncounted_rows",
    "schema_version",
  ]) {
    assert.ok(names.has(`headrace_${name}`), name);
  }
  const keys = rows.map(({ name, labels }) => `${String(name)} ${JSON.stringify(labels)}`);
  assert.is(new Set(keys).size, keys.length);
  assert.ok(rows.every(({ value }) => typeof value === "number" && Number.isFinite(value)));
  assert.ok([...names].every((name) => /^headrace_[a-z_]+$/.test(name)));
});

inspect("index_health shows leftovers of a cancelled rebuild, and the next one removes them", async () => {
  const health = await call("index_health");
  assert.ok(health.some(({ name }) => name === "job_line"));
  assert.ok(health.every(({ valid, leftover }) => valid === true && leftover === false));
  const commands = async (name: string | null): Promise<string[]> =>
    (await call("reindexable", name)).map((row) => String(row["reindexable"]));
  assert.is((await commands("job_line")).length, 1);

  const blocker = await database.connect();
  await blocker.query("begin");
  await blocker.query(database.sql("lock table :SCHEMA.job in row exclusive mode"));
  for (let round = 0; round < 2; round++) {
    const builder = await database.connect();
    const [command] = (await commands("job_line")).slice(-1);
    const building = refusal(builder.query(command ?? ""));
    await blocked(database.pool, builder, 60_000);
    await database.query("select pg_cancel_backend($1)", [backendPid(builder)]);
    assert.is((await building).code, "57014");
  }
  await blocker.query("rollback");
  const broken = (await call("index_health")).filter(({ leftover }) => leftover);
  assert.ok(broken.length > 0);
  assert.ok(broken.every(({ valid }) => valid === false));
  for (const command of await commands("job_line")) await database.pool.query(command);
  assert.ok((await call("index_health")).every(({ valid }) => valid));
  for (const name of ["nothing", "", null, 'job_line"; drop table x; --', "pg_class_oid_index"]) {
    assert.is((await refusal(commands(name))).code, "HR007", String(name));
  }
});

inspect("workers: commands are for one incarnation, taken once, and the last one wins (R-98)", async () => {
  const beat = async (incarnation: string, status = "running"): Promise<unknown> =>
    (
      await query("select :SCHEMA.heartbeat_worker('w', $1, status => $2) as command", [incarnation, status])
    )[0]?.["command"];
  const signal = (command: string | null, worker = "w"): Promise<unknown> =>
    query("select :SCHEMA.signal_worker($1, $2)", [worker, command]);
  assert.is((await refusal(signal("quiet"))).code, "HR006");
  assert.is(await beat("one"), null);
  for (const bad of ["", "stop", "QUIET"]) assert.is((await refusal(signal(bad))).code, "HR007");
  await signal("quiet");
  await signal("resume");
  const [pending] = await call("list_workers", 60_000);
  assert.is(pending?.["command"], "resume");
  assert.is(await beat("one"), "resume");
  assert.is(await beat("one", "resumed"), null);
  const [taken] = (await call("list_workers", 60_000)).filter((row) => row["worker_id"] === "w");
  assert.equal([taken?.["command"], taken?.["last_command"], taken?.["status"]], [null, "resume", "resumed"]);
  await signal("terminate");
  assert.is(await beat("two"), null);
  assert.is(await beat("two"), null);
  await signal("restart");
  await signal(null);
  assert.is(await beat("two"), null);
  await query("delete from :SCHEMA.worker where worker_id = 'w'");
  assert.is(await beat("two"), null);
  await signal("resign");
  assert.is(await beat("two"), "resign");
  await moveClock(database, 86_400_001);
  assert.ok((await call("list_workers", 60_000)).every((row) => row["worker_id"] !== "w"));
  await query("select :SCHEMA.janitor()");
  assert.is((await refusal(signal("quiet"))).code, "HR006");
});

inspect.after(() => database.close());
inspect.run();
