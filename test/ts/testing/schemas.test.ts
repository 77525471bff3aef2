import { spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../../scripts/lib/source.js";
import { migrate } from "../../../src/index.js";
import { dropTestSchemas, testQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { refusal } from "../support/refusal.js";

const schemas = suite("fresh schemas");
const database = await testDatabase({ installed: false });
const { url, pool } = database;
const tasks = { work: () => undefined };

const names = async (): Promise<string[]> => {
  const { rows } = await pool.query<{ nspname: string }>(
    "select nspname from pg_namespace where nspname like 'headrace%' order by 1",
  );
  return rows.map(({ nspname }) => nspname);
};

/** Every row of every table, and the state of sequences, triggers and rights. */
async function contents(schema: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const { rows: tables } = await pool.query<{ relname: string }>(
    `select relname from pg_class
     where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
    [schema],
  );
  for (const { relname } of tables) {
    const { rows } = await pool.query<{ r: object }>(`select to_jsonb(t) as r from ${schema}.${relname} t`);
    found[relname] = rows
      .map(({ r }) => ({ ...r, applied_at: undefined }))
      .map((r) => JSON.stringify(r))
      .sort();
  }
  const { rows: sequences } = await pool.query<{ sequencename: string; last_value: string | null }>(
    "select sequencename, last_value from pg_sequences where schemaname = $1 order by 1",
    [schema],
  );
  const { rows: triggers } = await pool.query(
    `select tgname, tgenabled from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where c.relnamespace = $1::regnamespace and not tgisinternal order by 1`,
    [schema],
  );
  const { rows: rights } = await pool.query("select nspacl::text from pg_namespace where nspname = $1", [
    schema,
  ]);
  const text = JSON.stringify({
    ...found,
    sequences,
    triggers,
    rights: rights.map(({ nspacl }) => nspacl ?? ""),
  });
  return JSON.parse(text.replaceAll(schema, "schema")) as Record<string, unknown>;
}

schemas("one is made, and the next test gets it again, empty", async () => {
  const first = await testQueue({ url, tasks });
  assert.match(first.schema, /^headrace_test_[0-9a-f]{10}_1$/);
  const { id } = await first.client.enqueue("work");
  assert.is(id, "j0000000000000001");
  await first.close();
  const second = await testQueue({ url, tasks });
  assert.is(second.schema, first.schema);
  assert.equal(await second.store.listJobs(), { jobs: [], nextCursor: null });
  assert.is((await second.client.enqueue("work")).id, "j0000000000000001");
  await second.close();
  await second.close();
});

schemas("one that was used all over is as a new one", async () => {
  const used = await testQueue({ url, tasks });
  const { store, client } = used;
  await store.upsertRateClass({ name: "api", limitPerWindow: 5 });
  await store.upsertConcurrencyLimit({ name: "one", queue: "narrow", maxConcurrent: 1 });
  await store.upsertSchedule({ id: "often", spec: "@every:60000", kind: "work" });
  await store.setQueuePaused("closed", true);
  await store.setArchivePolicy("default", 86_400_000);
  for (const queue of ["default", "narrow", "closed"]) {
    await client.enqueue("work", undefined, { queue, rateClass: "api", retention: "1h", uniqueKey: queue });
  }
  await client.enqueue("work", undefined, { delay: "2h" });
  await used.drain();
  await used.advance("90d");
  await used.drain();
  // Held by nobody who lives: running, with a lease.
  await client.enqueue("work");
  assert.is((await store.admit({ worker: "w", queues: ["default"] })).length, 1);
  const before = await contents(used.schema);
  await used.close();
  await migrate({ pool, schema: "headrace_new" });
  await pool.query("select headrace_new.set_transition_guard(true), headrace_new.use_test_clock()");
  const fresh = await contents("headrace_new");
  assert.not.equal(before, fresh);
  assert.equal(await contents(used.schema), fresh);
  await pool.query("drop schema headrace_new cascade");
});

schemas("one that is in use is never emptied, and one for tests only by its owner", async () => {
  await migrate({ pool, schema: "headrace_live" });
  await pool.query("select headrace_live.enqueue('work')");
  const refused = await refusal(pool.query("select headrace_live.empty_test_schema()"));
  assert.is(refused.code, "HR007");
  assert.match(refused.message, /has no test clock/);
  assert.is((await pool.query("select from headrace_live.job")).rowCount, 1);
  await pool.query("drop schema headrace_live cascade");

  await pool.query("create role kit_operator");
  const queue = await testQueue({ url, tasks });
  await queue.client.enqueue("work");
  const client = await database.connect();
  const emptied = `select ${queue.schema}.empty_test_schema()`;
  await pool.query(`select ${queue.schema}.grant_access('kit_operator', 'operator')`);
  await client.query("set role kit_operator");
  assert.is((await refusal(client.query(emptied))).code, "42501");
  await client.query("reset role");

  // Whoever writes in it is waited for, but not for ever.
  await client.query("begin");
  await client.query(`lock table ${queue.schema}.job in row exclusive mode`);
  assert.is((await refusal(pool.query(emptied))).code, "55P03");
  await client.query("rollback");
  assert.is((await queue.store.listJobs()).jobs.length, 1);
  // The guard stays as it was.
  await pool.query(`select ${queue.schema}.set_transition_guard(false)`);
  await pool.query(emptied);
  assert.is((await queue.store.listJobs()).jobs.length, 0);
  const { rows } = await pool.query(
    "select tgenabled from pg_trigger where tgrelid = $1::regclass and tgname = $2",
    [`${queue.schema}.job`, "job_transition"],
  );
  assert.equal(rows, [{ tgenabled: "D" }]);
  await queue.close();
  await dropTestSchemas({ url });
  await pool.query("drop role kit_operator");
});

schemas("tests at the same time get one each", async () => {
  const queues = await Promise.all([1, 2, 3].map(() => testQueue({ url, tasks })));
  assert.is(new Set(queues.map(({ schema }) => schema)).size, 3);
  await queues[0]!.client.enqueue("work");
  await queues[1]!.refuteEnqueued();
  await Promise.all(queues.map((queue) => queue.close()));
});

schemas("a role that a test gave rights to has none in the next", async () => {
  await pool.query("create role kit_reader");
  try {
    const first = await testQueue({ url, tasks });
    await pool.query(`select ${first.schema}.grant_access('kit_reader', 'reader')`);
    await first.close();
    const second = await testQueue({ url, tasks });
    const { rows } = await pool.query("select has_schema_privilege('kit_reader', $1, 'usage') as may", [
      second.schema,
    ]);
    assert.equal(rows, [{ may: false }]);
    await second.close();
  } finally {
    await dropTestSchemas({ url });
    await pool.query("drop role kit_reader");
  }
});

schemas("what a killed run has left is used again, cleared", async () => {
  const child = spawn(
    process.execPath,
    [
      ...["--import", "tsx", "--input-type=module", "-e"],
      `import { testQueue } from "./src/testing/index.js";
       const queue = await testQueue({ url: ${JSON.stringify(url)}, tasks: { work: () => {} } });
       await queue.client.enqueue("work", { from: "the dead" });
       await queue.advance("1d");
       console.log(queue.schema);
       setInterval(() => {}, 1000);`,
    ],
    { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const schema = line.toString().trim();
  const other = await testQueue({ url, tasks });
  assert.is.not(other.schema, schema, "it is held while its process lives");
  await other.close();
  child.kill("SIGKILL");
  await once(child, "exit");
  await eventually("the schema is free again", async () => {
    await using queue = await testQueue({ url, tasks });
    await queue.refuteEnqueued();
    assert.ok(Math.abs((await queue.now()).getTime() - Date.now()) < 60_000, "its time is now");
    return queue.schema === schema;
  });
});

schemas("one whose making was interrupted is made anew", async () => {
  await dropTestSchemas({ url });
  const first = await testQueue({ url, tasks });
  await first.close();
  await pool.query(`comment on schema ${first.schema} is null; drop table ${first.schema}.job cascade`);
  const second = await testQueue({ url, tasks });
  assert.is(second.schema, first.schema);
  await second.client.enqueue("work");
  await second.close();
});

schemas("one that a test still works in is left alone", async () => {
  const first = await testQueue({ url, tasks });
  await first.client.enqueue("work");
  const straggler = await database.connect();
  await straggler.query("begin");
  await straggler.query(`select from ${first.schema}.job for update`);
  await first.close();
  const second = await testQueue({ url, tasks });
  assert.is.not(second.schema, first.schema);
  await straggler.query("rollback");
  await second.close();
  const third = await testQueue({ url, tasks });
  assert.is(third.schema, first.schema);
  await third.refuteEnqueued();
  await third.close();
});

schemas(
  "those of other versions go, and dropTestSchemas leaves only what is held and what is not ours",
  async () => {
    await pool.query(
      `create schema headrace_test_0000000000_7; create schema headrace; create schema headrace_test_app;
     create schema headrace_test_0000000000_7b`,
    );
    const queue = await testQueue({ url, tasks });
    assert.not.ok((await names()).includes("headrace_test_0000000000_7"));
    const free = await testQueue({ url, tasks });
    await free.close();
    assert.ok((await dropTestSchemas({ url })).includes(free.schema));
    const others = ["headrace", "headrace_test_0000000000_7b", "headrace_test_app"];
    assert.equal(await names(), [...others, queue.schema].sort());
    await queue.close();
    assert.equal(await dropTestSchemas({ pool }), [queue.schema]);
    assert.equal(await names(), others);
  },
);

schemas("in the database of a pool, beside the application's tables, in its transactions", async () => {
  await pool.query("create table customer (name text primary key)");
  await using queue = await testQueue({ pool, tasks });
  const client = await pool.connect();
  await client.query("begin");
  await client.query("insert into customer values ('ada')");
  await queue.client.enqueue("work", undefined, { tx: client });
  await queue.refuteEnqueued();
  await client.query("commit");
  client.release();
  await queue.assertEnqueued({ kind: "work" });
});

schemas("a role that may make schemas is enough", async () => {
  const password = "kit";
  await pool.query(`create role kit_maker login password '${password}'`);
  await pool.query(`grant create on database ${pg.escapeIdentifier(database.name)} to kit_maker`);
  const asMaker = new URL(url);
  asMaker.username = "kit_maker";
  asMaker.password = password;
  const maker = new pg.Pool({ connectionString: asMaker.href, max: 3 });
  try {
    for (const where of [{ url: asMaker.href }, { pool: maker }]) {
      const queue = await testQueue({ ...where, tasks });
      await queue.client.enqueue("work");
      await queue.advance("1h");
      assert.is((await queue.drain()).length, 1);
      await queue.close();
    }
    await dropTestSchemas({ pool: maker });
  } finally {
    await maker.end();
    await pool.query("drop owned by kit_maker; drop role kit_maker");
  }
});

schemas("wrong input is refused", async () => {
  const refused = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "accepted",
      (error: unknown) => (error as Error).message,
    );
  assert.match(await refused(testQueue({ url, pool })), /url or pool, not both/);
  const nobody = new URL(url);
  nobody.password = "wrong";
  assert.match(await refused(testQueue({ url: nobody.href })), /password authentication failed/);
  await pool.query("create role kit_guest login password 'kit'");
  nobody.username = "kit_guest";
  nobody.password = "kit";
  assert.match(await refused(testQueue({ url: nobody.href })), /permission denied for database/);
  await pool.query("drop role kit_guest");
});

schemas.after(async () => {
  await dropTestSchemas({ pool });
  await database.close();
});
schemas.run();
