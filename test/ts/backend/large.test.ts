// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";

/**
 * Reads of the backend surface over many jobs and runs touch a bounded number of buffers; what counts all of something
 * reads an index and not the table. HEADRACE_TEST_ROWS says how many.
 */
const rows = Number(process.env["HEADRACE_TEST_ROWS"] ?? 120_000);
const large = suite(`backend reads over ${rows} runs`);
const database = await testDatabase({ invariants: false });
const { query } = database;

await query("select :SCHEMA.set_transition_guard(false)");
for (const table of ["job", "attempt"]) {
  await query(`alter table :SCHEMA.${table} set (autovacuum_enabled = off)`);
}
const job = (count: number, state: string, queue: string, kind: string): Promise<unknown> =>
  query(
    "insert into :SCHEMA.job (state, queue, partition_key, kind, payload, enqueued_at_ms, scheduled_at_ms, " +
      `finalized_at_ms, headers) select '${state}', '${queue}', n % 1000, '${kind}', '\\x7b7d', n, n, ` +
      `${["available", "scheduled"].includes(state) ? "null" : "n"}, ` +
      `jsonb_build_object('padding', repeat('x', 200)) from generate_series(1, ${count}) n`,
  );
await job(3, "cancelled", "global", "rare");
await job(rows / 2, "completed", "global", "common");
await job(rows / 4, "available", "global", "common");
await job(rows / 4, "scheduled", "other", "common");
await job(3, "archived", "global", "rare");
await query(
  "insert into :SCHEMA.queue_depth (queue, depth) select queue, count(*) from :SCHEMA.job where stage < 2 group by 1",
);
await query(
  "insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, finished_at_ms, " +
    "outcome, error) select n, 'job' || n / 3, case when n % 1000 = 0 then 'rare' else 'common' end, 'global', 1, 1, 'w', " +
    `n, n + 5, case when n % 4 = 0 then 'retry' else 'success' end, repeat('x', 300) from generate_series(1, ${rows}) n`,
);

const touchedBuffers = async (call: string): Promise<number> => {
  const [plan] = await query(`explain (analyze, buffers, format json) select * from :SCHEMA.${call}`);
  const top = (plan?.["QUERY PLAN"] as { Plan: Record<string, number> }[])[0]?.Plan ?? {};
  return (top["Shared Hit Blocks"] ?? 0) + (top["Shared Read Blocks"] ?? 0);
};
/** The less of two: a session that has to read the catalog again touches some thousand more, once. */
const buffers = async (call: string): Promise<number> =>
  Math.min(await touchedBuffers(call), await touchedBuffers(call));
const pages = async (relation: string): Promise<number> =>
  Number((await query(`select pg_relation_size(':SCHEMA.${relation}') / 8192 as n`))[0]?.["n"]);
const answer = async (call: string): Promise<number> =>
  Number((await query(`select :SCHEMA.${call} as n`))[0]?.["n"]);

async function bounded(): Promise<void> {
  for (const [call, most] of [
    ["backend_list_runs(null, 0, 100)", 600],
    ["backend_list_runs(null, 1000, 100)", 2500],
    ["backend_list_runs('job7', 0, 100)", 400],
    [`backend_count_runs('job7')`, 400],
    [`backend_count_runs_since(${rows - 100})`, 600],
    ["backend_task_run_stats('rare')", rows / 500 + 600],
    ["backend_get_run('r0000000000000007')", 400],
    ["backend_list_jobs(null, 0, 100)", 1500],
    ["backend_list_jobs('failed', 0, 100)", 1000],
    ["backend_list_jobs('canceled', 0, 100)", 1000],
    ["backend_list_jobs('success', 1000, 100)", 3000],
    ["backend_count_jobs('queued')", 600],
    ["backend_count_jobs('running')", 600],
    ["backend_distinct_pools_queued()", 1000],
    ["backend_list_queued_for_pool_sorted('global', 8)", 1000],
  ] as const) {
    const touched = await buffers(call);
    assert.ok(touched <= most, `${call} touched ${touched} buffers`);
  }
}

large("pages and counts of few, never analysed", bounded);
large("counts are exact", async () => {
  assert.is(await answer("backend_count_jobs('queued')"), rows / 2);
  assert.is(await answer("backend_count_jobs('running')"), 0);
  assert.is(await answer("backend_count_jobs('canceled')"), 3);
  assert.is(await answer("backend_count_jobs('failed')"), 3);
  assert.is(await answer("backend_count_jobs('success')"), rows / 2);
  assert.is(await answer("backend_count_jobs()"), rows + 6);
  assert.is(await answer("backend_count_jobs_for_task('rare')"), 6);
  assert.is(await answer("backend_count_runs()"), rows);
  assert.is(await answer(`backend_count_runs_since(${rows - 99})`), 100);
});
large("pages and counts of few, analysed", async () => {
  await query("vacuum analyze :SCHEMA.job");
  await query("vacuum analyze :SCHEMA.attempt");
  await bounded();
});
large("counts of all read an index", async () => {
  for (const [call, index, table] of [
    ["backend_count_runs()", "attempt_newest", "attempt"],
    ["backend_count_runs_since(0)", "attempt_newest", "attempt"],
    ["backend_task_run_stats('common')", "attempt_kind", "attempt"],
    ["backend_count_jobs('success')", "job_shelf", "job"],
    ["backend_count_jobs()", "job_shelf", "job"],
  ] as const) {
    const most = (await pages(index)) * 1.2 + 600;
    assert.ok(most < (await pages(table)), `${table} is too small to tell`);
    const touched = await buffers(call);
    assert.ok(touched <= most, `${call} touched ${touched} buffers, ${index} has ${await pages(index)}`);
  }
});

large("pages of jobs that wait are found among the oldest, and are the same where they are not", async () => {
  // Before all others, unlike those that stand behind the finished ones.
  await query(
    "insert into :SCHEMA.job (key, state, queue, kind, payload, enqueued_at_ms, scheduled_at_ms) select -n, " +
      "cast((array['available', 'scheduled', 'pending'])[1 + n % 3] as :SCHEMA.job_state), 'early', 'common', '{}', 1, 1 " +
      "from generate_series(1, 600) n",
  );
  await query(
    "select from :SCHEMA.open_lanes(:SCHEMA.lanes_for(array(select j from :SCHEMA.job j where key < 0 and state = 'available')))",
  );
  for (const skip of [0, 300, 500]) {
    const touched = await buffers(`backend_list_jobs('queued', ${skip}, 100)`);
    assert.ok(touched <= 2000, `${skip}: touched ${touched} buffers`);
  }
  const listed = async (status: string, skip: number): Promise<unknown[]> =>
    (await query("select job_id from :SCHEMA.backend_list_jobs($1, $2, 100)", [status, skip])).map(
      (row) => row["job_id"],
    );
  const there = async (states: string, skip: number): Promise<unknown[]> =>
    (
      await query(
        `select :SCHEMA.job_id(key, id) as job_id from :SCHEMA.job where state in (${states}) order by key offset $1 limit 100`,
        [skip],
      )
    ).map((row) => row["job_id"]);
  for (const skip of [0, 250, 550, 599, 1000, rows / 2 + 550]) {
    const expected = await there("'pending', 'scheduled', 'available', 'retryable'", skip);
    assert.ok(expected.length > 0);
    assert.equal(await listed("queued", skip), expected, `from ${skip}`);
  }
  await query("select from :SCHEMA.admit('w', array['early'], 150)");
  const running = await there("'running'", 0);
  assert.is(running.length, 100);
  assert.equal(await listed("running", 0), running);
  assert.is((await listed("running", 100)).length, 50);
  assert.ok((await buffers("backend_list_jobs('running', 0, 100)")) <= 2000);
  // Leases of jobs that have ended: fewer than jobs wait.
  await leaseEnded(2500);
  assert.equal(await listed("running", 0), running);
  const touched = await buffers("backend_list_jobs('running', 0, 100)");
  assert.ok(touched <= rows / 8, `touched ${touched} buffers`);
});

const leaseEnded = (count: number): Promise<unknown> =>
  query(
    "insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys) select 'ended' || n, 'w', 1, " +
      `:SCHEMA.now_ms() + 3600000, array[1e15::bigint + n] from generate_series(1, ${count}) n`,
  );

large("pages of jobs that wait read no more than the finished ones that are older", async () => {
  await query("delete from :SCHEMA.job where stage <> 2 and key < 0");
  await query(
    "delete from :SCHEMA.job j using (select key from :SCHEMA.job where stage = 2 order by key offset 8000) o where j.key = o.key",
  );
  await query("vacuum :SCHEMA.job");
  const touched = await buffers("backend_list_jobs('queued', 0, 100)");
  assert.ok(touched <= rows / 40, `touched ${touched} buffers`);
  const [first] = await query("select job_id from :SCHEMA.backend_list_jobs('queued', 0, 1)");
  const [expected] = await query(
    "select :SCHEMA.job_id(min(key), null) as job_id from :SCHEMA.job where stage < 2",
  );
  assert.equal(first, expected);
});

large(
  "pages of jobs that wait or run read no more than the unfinished ones, where those are fewer",
  async () => {
    await query("delete from :SCHEMA.job where stage < 2");
    await query("delete from :SCHEMA.tally");
    await query("update :SCHEMA.queue_depth set depth = 0");
    await query("vacuum :SCHEMA.job");
    await query("vacuum :SCHEMA.lease");
    await query(
      "select :SCHEMA.enqueue('common', queue => 'late', delay => make_interval(hours => n)) from generate_series(0, 9) n",
    );
    const [claim] = await query("select id from :SCHEMA.admit('w', array['late'], 1)");
    for (const [status, count] of [
      ["queued", 9],
      ["running", 1],
    ] as const) {
      const listed = await query("select job_id from :SCHEMA.backend_list_jobs($1)", [status]);
      assert.is(listed.length, count);
      assert.is(
        listed.some((row) => row["job_id"] === claim?.["id"]),
        status === "running",
      );
      const touched = await buffers(`backend_list_jobs('${status}')`);
      assert.ok(touched <= 1500, `${status}: touched ${touched} buffers`);
    }
  },
);

large.after(() => database.close());
large.run();
