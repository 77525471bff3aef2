// alone
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase } from "./support/database.js";
import { ack, admit, admitOne, enqueue, enqueueAll, jobIn, moveClock, stateOf } from "./support/jobs.js";
import { backendPid, blocked } from "./support/locks.js";
import { refusal } from "./support/refusal.js";

const operations = suite("bulk operations");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;

interface Status {
  status: string;
  dry_run: boolean;
  estimated: string;
  estimate_capped: boolean;
  affected: string;
  skipped: string;
  skipped_for: Record<string, number>;
  finished_at_ms: string | null;
}

const create = async (
  action: string,
  selector: unknown,
  dryRun = false,
  id: string | null = null,
): Promise<string> => {
  const [row] = await query<{ id: string }>("select :SCHEMA.create_operation($1, $2, $3, $4) as id", [
    action,
    JSON.stringify(selector),
    dryRun,
    id,
  ]);
  return row?.id ?? "?";
};
const status = async (id: string): Promise<Status> => {
  const [row] = await query<Status & Record<string, unknown>>("select * from :SCHEMA.get_operation($1)", [
    id,
  ]);
  if (!row) throw new Error("no such operation");
  return row;
};
const run = async (batch = 1000): Promise<number> =>
  Number((await query("select :SCHEMA.run_pending_operations($1) as n", [batch]))[0]?.["n"]);
const finish = async (id: string, batch = 1000): Promise<Status> => {
  for (let call = 0; call < 200; call++) {
    const now = await status(id);
    if (now.finished_at_ms !== null) return now;
    await run(batch);
  }
  throw new Error(`not finished: ${JSON.stringify(await status(id))}`);
};
/** Jobs that ended badly, in one statement. */
const archived = async (
  queue: string,
  count: number,
  more: Record<string, unknown> = {},
): Promise<string[]> => {
  const ids = await enqueueAll(
    database,
    Array.from({ length: count }, () => ({ queue, retention_ms: 3_600_000, ...more })),
  );
  for (let left = count; left > 0;) {
    const claims = await admit(database, { queue, capacity: 1000 });
    await query("select count(*) from :SCHEMA.ack_many($1)", [
      JSON.stringify(
        claims.map(({ id, lease_id, fence }) => ({
          job_id: id,
          lease_id,
          fence: Number(fence),
          outcome: "skip",
        })),
      ),
    ]);
    left -= claims.length;
  }
  return ids;
};

operations("a selector is never empty, never misspelt, and fits the action (R-95)", async () => {
  for (const [action, selector, field] of [
    ["delete", {}, "selector"],
    ["delete", { kinds: "a" }, "selector"],
    ["delete", { queue: "a", stat: "archived" }, "selector"],
    ["delete", { queue: 7 }, "queue"],
    ["delete", { state: "gone" }, "state"],
    ["delete", { state: "running" }, "selector"],
    ["retry", { state: "completed" }, "selector"],
    ["cancel", { state: "archived" }, "selector"],
    ["delete", [], "selector"],
    ["delete", null, "selector"],
    ["delete", { tags_all: [] }, "tags_all"],
    ["delete", { priority: "x" }, "priority"],
    ["purge", { queue: "a" }, "action"],
    ["delete_queue", { queue: "a" }, "action"],
  ] as const) {
    const { code, fields } = await refusal(create(action, selector));
    assert.is(code, "HR007", JSON.stringify(selector));
    assert.is(fields["field"], field, JSON.stringify(selector));
  }
  assert.equal(await query("select from :SCHEMA.list_operations()"), []);
});

operations("a dry run counts what the real one then does (R-95)", async () => {
  await archived("dry", 60, { kind: "k" });
  await archived("dry", 15, { kind: "other" });
  await enqueue(database, { queue: "dry", kind: "k" });
  const selector = { queue: "dry", kind: "k", state: "archived" };
  const dry = await status(await create("delete", selector, true));
  assert.equal(
    [dry.status, dry.estimated, dry.affected, dry.estimate_capped],
    ["completed", "60", "0", false],
  );
  assert.is(await run(), 0);
  const done = await finish(await create("delete", selector), 25);
  assert.equal([done.status, done.affected, done.skipped], ["completed", "60", "0"]);
  const left = await query(
    'select state, kind from :SCHEMA.list_jobs(\'{"queue": "dry"}\') order by state, kind',
  );
  assert.is(left.length, 16);
  assert.ok(left.every(({ state, kind }) => state === "available" || kind === "other"));
});

operations("each action moves what the single move does", async () => {
  const from = {
    retry: ["archived", "cancelled", "undecodable"],
    cancel: ["pending", "scheduled", "available", "running", "retryable"],
    promote: ["pending"],
    delete: [
      "pending",
      "scheduled",
      "available",
      "retryable",
      "completed",
      "archived",
      "cancelled",
      "quarantined",
      "undecodable",
    ],
  };
  const to = { retry: "available", cancel: "cancelled", promote: "available", delete: undefined };
  const all = [...new Set(Object.values(from).flat())];
  for (const action of ["retry", "cancel", "promote", "delete"] as const) {
    const jobs = new Map<string, string>();
    for (const state of all) {
      jobs.set(await jobIn(database, state, { kind: `do-${action}`, payload: { action, state } }), state);
    }
    const { affected } = await finish(await create(action, { kind: `do-${action}` }), 3);
    assert.is(Number(affected), from[action].length, action);
    for (const [id, state] of jobs) {
      const expected = from[action].includes(state) ? to[action] : state;
      assert.is(await stateOf(database, id), expected, `${action} from ${state}`);
    }
  }
});

operations("rows that somebody holds are done later, a killed runner costs nothing (R-94)", async () => {
  const ids = await archived("held", 400);
  const id = await create("delete", { queue: "held", state: "archived" });
  const holder = await database.connect();
  await holder.query("begin");
  await holder.query(
    database.sql(
      "select from :SCHEMA.job where key in (select :SCHEMA.job_key(i) from unnest($1::text[]) i) for update",
    ),
    [ids.slice(100, 150)],
  );
  // A runner that dies in the middle of its batch.
  const victim = await database.connect();
  await victim.query("begin");
  await victim.query(database.sql("select :SCHEMA.run_pending_operations(100)"));
  await query("select pg_terminate_backend($1)", [backendPid(victim)]);
  assert.is((await status(id)).affected, "0");
  // Two nodes at a time.
  for (let round = 0; round < 8; round++) {
    await concurrently(database, 2, (client) =>
      client.query(database.sql("select :SCHEMA.run_pending_operations(100)")),
    );
  }
  const meanwhile = await status(id);
  assert.is(meanwhile.status, "running");
  assert.is(meanwhile.affected, "350");
  await holder.query("rollback");
  const done = await finish(id, 100);
  assert.equal([done.status, done.affected, done.skipped], ["completed", "400", "0"]);
});

operations("a retry skips the jobs whose key was taken, and says so (R-21)", async () => {
  const first = await jobIn(database, "archived", { queue: "conflict", unique_key: "conflict-key" });
  await archived("conflict", 99);
  const rival = await enqueue(database, { queue: "elsewhere", unique_key: "conflict-key" });
  const done = await finish(await create("retry", { queue: "conflict" }), 40);
  assert.equal([done.status, done.affected, done.skipped], ["completed", "99", "1"]);
  assert.equal(done.skipped_for, { duplicate: 1 });
  assert.is(await stateOf(database, first), "archived");
  assert.is(await stateOf(database, rival), "available");
});

operations("one row that always fails holds up no other and is named (R-05)", async () => {
  const ids = await archived("bad", 50);
  const bad = ids[20];
  await query(
    "create function public.refuse() returns trigger language plpgsql as " +
      "$$ begin raise exception 'never this one' using errcode = '22003'; end $$",
  );
  await query(
    "create trigger refuse before delete on :SCHEMA.job for each row " +
      `when (old.id is null and old.key = ${BigInt(`0x${bad?.slice(1)}`)}) execute function public.refuse()`,
  );
  const id = await create("delete", { queue: "bad" });
  await run();
  const seen = await status(id);
  assert.is(seen.affected, "49");
  assert.equal(Object.values(seen.skipped_for), [1]);
  assert.match(Object.keys(seen.skipped_for)[0] ?? "", "22003");
  const noted = await query("select subject from :SCHEMA.sweep_error where sweep = 'run_pending_operations'");
  assert.equal(
    noted.map(({ subject }) => subject),
    [String(BigInt(`0x${bad?.slice(1)}`))],
  );
  const done = await finish(id);
  assert.equal([done.status, done.affected, done.skipped], ["completed", "49", "1"]);
  await query("drop trigger refuse on :SCHEMA.job");
});

operations("jobs that came later are left alone, and nothing is retried twice (R-94)", async () => {
  await archived("later", 5);
  const id = await create("retry", { queue: "later" });
  await query("select pg_sleep(0.01)");
  await archived("later", 3);
  assert.is(await run(), 5);
  // They fail again while the operation still runs.
  for (let n = 0; n < 5; n++) await ack(database, await admitOne(database, { queue: "later" }), "skip");
  const done = await finish(id);
  assert.is(done.affected, "5");
  const [counted] = await query("select jobs from :SCHEMA.counts('later') where state = 'archived'");
  assert.is(counted?.["jobs"], "8");
});

operations("the same id says the same operation", async () => {
  const once = await create("cancel", { queue: "same" }, false, "mine");
  assert.is(await create("cancel", { queue: "same" }, false, "mine"), once);
  const { code } = await refusal(create("delete", { queue: "same" }, false, "mine"));
  assert.is(code, "HR002");
  assert.is((await refusal(create("delete", { queue: "same" }, false, ""))).code, "HR007");
  assert.equal(await query("select from :SCHEMA.get_operation('none')"), []);
  await finish("mine");
});

operations("delete_queue refuses a queue with unfinished jobs, and takes one without", async () => {
  await query("select :SCHEMA.set_queue_weight('empty', 7)");
  await jobIn(database, "archived", { queue: "empty" });
  const [row] = await query("select :SCHEMA.delete_queue('empty') as id");
  assert.is(row?.["id"], null);
  assert.equal(await query("select from :SCHEMA.queue where queue = 'empty'"), []);
  for (const state of ["pending", "scheduled", "available", "running", "retryable"]) {
    const id = await jobIn(database, state, { queue: "full" });
    const { code, fields } = await refusal(query("select :SCHEMA.delete_queue('full')"));
    assert.is(code, "HR007");
    assert.is(fields["field"], "queue");
    if (state === "running") await query("select :SCHEMA.operator_cancel($1)", [id]);
    else await query("select :SCHEMA.delete_job($1)", [id]);
  }
  await query("select :SCHEMA.delete_queue('full')");
});

operations("delete_queue by force leaves a clean name (R-97)", async () => {
  const queue = "forced";
  await query("select :SCHEMA.set_enqueue_limit($1, 1000)", [queue]);
  await query("select :SCHEMA.set_queue_paused($1, true)", [queue]);
  await query("select :SCHEMA.set_queue_paused($1, false)", [queue]);
  await enqueueAll(
    database,
    Array.from({ length: 500 }, (_, n) => ({ queue, partition_key: `p${n % 20}` })),
  );
  const running = await admit(database, { queue, capacity: 5 });
  assert.is(running.length, 5);
  await jobIn(database, "scheduled", { queue });
  const [row] = await query("select :SCHEMA.delete_queue($1, true) as id", [queue]);
  const id = String(row?.["id"]);
  assert.is((await query("select :SCHEMA.delete_queue($1, true) as id", [queue]))[0]?.["id"], id);
  const closed = await refusal(enqueue(database, { queue }));
  assert.is(closed.code, "HR004");
  assert.is(closed.fields["limit"], 0);
  const done = await finish(id, 200);
  assert.equal([done.status, done.affected], ["completed", "501"]);
  assert.is((await refusal(ack(database, running[0] ?? (undefined as never), "success"))).code, "HR005");

  for (const table of ["queue", "queue_depth", "partition", "queue_minute", "queue_share"]) {
    assert.equal(await query(`select * from :SCHEMA.${table} where queue = $1`, [queue]), [], table);
  }
  const fresh = await enqueue(database, { queue });
  assert.is((await admitOne(database, { queue })).id, fresh);
  await query("select :SCHEMA.delete_queue($1, true)", [queue]);
  await run();
  await run();
  for (let visit = 0; visit < 4; visit++) {
    await query("select :SCHEMA.janitor()");
    await moveClock(database, 601_000);
  }
  for (const table of ["queue", "queue_depth", "lane", "lane_return"]) {
    assert.equal(await query(`select * from :SCHEMA.${table} where queue = $1`, [queue]), [], table);
  }
});

operations(
  "delete_queue names the schedules that would bring the queue back, and by force pauses them",
  async () => {
    const queue = 'nightly "q"';
    for (const id of ["s1", "s2", "s3", "s4"]) {
      await query("select :SCHEMA.upsert_schedule($1, '@every:1000', 'task', queue => $2)", [id, queue]);
    }
    await query("select :SCHEMA.upsert_schedule('elsewhere', '@every:1000', 'task')");
    const { code, fields } = await refusal(query("select :SCHEMA.delete_queue($1)", [queue]));
    assert.equal([code, fields["field"]], ["HR007", "queue"]);
    assert.match(String(fields["reason"]), /schedule s1, s2, s3 and others$/);
    assert.equal(await query("select id from :SCHEMA.list_schedules() where paused"), []);

    await moveClock(database, 2000);
    await query("select :SCHEMA.tick_schedules()");
    const [row] = await query("select :SCHEMA.delete_queue($1, true) as id", [queue]);
    await finish(String(row?.["id"]));
    const paused = await query("select id from :SCHEMA.list_schedules() where paused order by id");
    assert.equal(
      paused.map(({ id }) => id),
      ["s1", "s2", "s3", "s4"],
    );
    await moveClock(database, 60_000);
    await query("select :SCHEMA.tick_schedules()");
    assert.equal(await query("select from :SCHEMA.list_jobs($1)", [JSON.stringify({ queue })]), []);
    assert.is((await query("select :SCHEMA.delete_queue($1) as id", [queue]))[0]?.["id"], null);
    await query("select :SCHEMA.delete_schedule('elsewhere')");
  },
);

operations("one id makes one operation, however many ask at once", async () => {
  await archived("at-once", 3);
  const answers = await concurrently(database, 8, (client, index) =>
    client
      .query<{ id: string }>(
        database.sql("select :SCHEMA.create_operation($1, $2, false, 'at-once') as id"),
        [index % 2 ? "delete" : "retry", '{"queue": "at-once"}'],
      )
      .then(
        ({ rows }) => rows[0]?.id,
        (error: { code?: string }) => error.code,
      ),
  );
  assert.equal(answers.sort(), [...Array<string>(4).fill("HR002"), ...Array<string>(4).fill("at-once")]);
  await finish("at-once");
});

operations("delete_queue by force and the tick of a schedule do not deadlock", async () => {
  const queue = "ticking";
  await query("select :SCHEMA.set_enqueue_limit($1, 1000)", [queue]);
  await query("select :SCHEMA.upsert_schedule('ticks', '@every:1000', 'task', queue => $1)", [queue]);
  await moveClock(database, 2000);
  // The first lock that the tick takes, then what it goes on to.
  const ticker = await database.connect();
  await ticker.query("set deadlock_timeout = '100ms'");
  await ticker.query("begin");
  await ticker.query(database.sql("select from :SCHEMA.schedule where id = 'ticks' for update"));
  const operator = await database.connect();
  await operator.query("set deadlock_timeout = '100ms'");
  const deletion = operator.query(database.sql("select :SCHEMA.delete_queue($1, true) as id"), [queue]);
  await blocked(database.pool, operator);
  await ticker.query(database.sql("select :SCHEMA.enqueue('task', queue => $1)"), [queue]);
  await ticker.query("commit");
  await deletion;
});

operations("a producer that was about to commit is not stranded by delete_queue", async () => {
  const queue = "late-commit";
  await enqueue(database, { queue });
  const producer = await database.connect();
  await producer.query("begin");
  await producer.query(database.sql("select :SCHEMA.enqueue('late', queue => $1)"), [queue]);
  const [row] = await query("select :SCHEMA.delete_queue($1, true) as id", [queue]);
  await finish(String(row?.["id"]));
  for (let visit = 0; visit < 4; visit++) {
    await query("select :SCHEMA.janitor()");
    await moveClock(database, 601_000);
  }
  await producer.query("commit");
  const claim = await admitOne(database, { queue });
  await ack(database, claim, "success");
});

operations.after(() => database.close());
operations.run();
