import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase } from "./support/database.js";
import { ack, admitOne, enqueue } from "./support/jobs.js";
import { refusal } from "./support/refusal.js";

const access = suite("access");
const database = await testDatabase({ poolSize: 4 });
const { query } = database;

const duties = ["producer", "worker", "scheduler", "operator", "reader", "reader_payload"] as const;
const roleOf = (duty: string): string => `${database.name}_${duty}`;
for (const duty of [...duties, "none"]) {
  await query(`create role ${pg.escapeIdentifier(roleOf(duty))}`);
}
for (const duty of duties) await query("select :SCHEMA.grant_access($1, $2)", [roleOf(duty), duty]);

const as = async (duty: string): Promise<pg.Client> => {
  const client = await database.connect();
  await client.query(`set role ${pg.escapeIdentifier(roleOf(duty))}`);
  return client;
};
const try1 = async (client: pg.Client, text: string, values: unknown[] = []): Promise<string> =>
  client.query(database.sql(text), values).then(
    () => "ok",
    (error: { code?: string }) => error.code ?? "?",
  );

access("duties granted and taken at the same time do not deadlock", async () => {
  const role = roleOf("none");
  const answers = await concurrently(database, 6, async (client, index) => {
    await client.query("set deadlock_timeout = '100ms'");
    const door = index % 2 ? "grant_access" : "revoke_access";
    return try1(client, `select :SCHEMA.${door}($1, 'reader')`, [role]);
  });
  // They take turns, and give up after 2 s on a machine that is slow enough.
  assert.ok(
    answers.every((answer) => answer === "ok" || answer === "55P03"),
    answers.join(),
  );
  assert.ok(answers.includes("ok"));
  await query("select :SCHEMA.revoke_access($1, 'reader')", [role]);
});

access("each duty opens its own functions and nothing else (R-91)", async () => {
  const probes: Record<string, readonly string[]> = {
    "select :SCHEMA.enqueue('task')": ["producer"],
    'select * from :SCHEMA.enqueue_many(\'[{"kind": "task"}]\')': ["producer"],
    "select * from :SCHEMA.admit('w')": ["worker"],
    "select * from :SCHEMA.ack_many('[]')": ["worker"],
    "select :SCHEMA.heartbeat_worker('w')": ["worker"],
    "select * from :SCHEMA.run_duties('h')": ["worker", "scheduler"],
    "select * from :SCHEMA.reclaim_expired()": ["scheduler"],
    "select :SCHEMA.janitor()": ["scheduler"],
    "select :SCHEMA.tick_schedules()": ["scheduler"],
    "select * from :SCHEMA.due_schedules()": ["scheduler"],
    "select :SCHEMA.upsert_schedule('s', '@yearly', 'k')": ["operator"],
    "select :SCHEMA.next_tick('@daily', 0)": ["scheduler", "operator", "reader", "reader_payload"],
    "select * from :SCHEMA.list_schedules()": ["scheduler", "operator", "reader", "reader_payload"],
    "select * from :SCHEMA.list_schedules_with_payload()": ["reader_payload"],
    "select * from :SCHEMA.schedules": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.schedule": [],
    "select :SCHEMA.set_queue_weight('q', 2)": ["operator"],
    "select :SCHEMA.create_operation('cancel', '{\"queue\": \"none\"}')": ["operator"],
    "select * from :SCHEMA.list_jobs()": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.get_job('x')": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.get_job('x', true)": ["reader_payload"],
    "select * from :SCHEMA.get_job_with_payload('x')": ["reader_payload"],
    "select * from :SCHEMA.get_job_result('x')": ["reader_payload"],
    "select * from :SCHEMA.get_job_output('x')": ["reader_payload"],
    "select * from :SCHEMA.get_job_checkpoint('x')": ["reader_payload"],
    "select * from :SCHEMA.queue_stats()": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.metrics()": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.verify_invariants()": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.jobs": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.queues": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.workers": ["operator", "reader", "reader_payload"],
    "select * from :SCHEMA.backend_get_job('x')": ["worker", "reader_payload"],
    "select :SCHEMA.schema_version()": duties,
    "select * from :SCHEMA.job": [],
    "select * from :SCHEMA.job_extra": [],
    "insert into :SCHEMA.queue (queue) values ('x')": [],
    "delete from :SCHEMA.lease": [],
    "select :SCHEMA.grant_access('x', 'operator')": [],
    "select :SCHEMA.revoke_access('x', 'operator')": [],
    "select :SCHEMA.set_transition_guard(false)": [],
    "select :SCHEMA.apply_grants()": [],
    "select :SCHEMA.retry_jobs('{}')": [],
    "select * from :SCHEMA.find_jobs('{}', null, 1, 1)": [],
  };
  for (const duty of [...duties, "none"]) {
    const client = await as(duty);
    for (const [text, open] of Object.entries(probes)) {
      const expected = open.includes(duty) ? "ok" : "42501";
      assert.is(await try1(client, text), expected, `${duty}: ${text}`);
    }
    await client.end();
  }
});

access("PUBLIC has nothing, and every function is in no duty or a known one (R-91)", async () => {
  const open = await query(
    "select p.proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a " +
      "where p.pronamespace = ':SCHEMA'::regnamespace and a.grantee = 0",
  );
  assert.equal(open, []);
  const tables = await query(
    "select c.relname from pg_class c, aclexplode(c.relacl) a " +
      "where c.relnamespace = ':SCHEMA'::regnamespace and a.grantee = 0",
  );
  assert.equal(tables, []);
  const [schema] = await query(
    "select count(*) as n from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = $1 and a.grantee = 0",
    [database.schema],
  );
  assert.is(schema?.["n"], "0");
});

access("every door that a duty opens is there", async () => {
  const missing = await query(
    "select distinct d.door from :SCHEMA.doors() d " +
      "where not exists (select from pg_proc p where p.pronamespace = ':SCHEMA'::regnamespace and p.proname = d.door) " +
      "and not exists (select from pg_class c where c.relnamespace = ':SCHEMA'::regnamespace and c.relname = d.door)",
  );
  assert.equal(missing, []);
});

access("payloads of quarantined contents and schedules are for who may read payloads", async () => {
  await query(
    "insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, sample_payload, reason) " +
      "values ('fp', 'k', 3, 1, 'secret', 'r')",
  );
  await query("select :SCHEMA.upsert_schedule('secret', '@yearly', 'k')");
  for (const [duty, expected] of [
    ["reader", null],
    ["operator", null],
    ["reader_payload", Buffer.from("secret")],
  ] as const) {
    const client = await as(duty);
    const { rows } = await client.query(database.sql("select * from :SCHEMA.quarantine_list()"));
    assert.equal(
      rows.map((row) => row.sample_payload),
      [expected],
      duty,
    );
    const sample = await try1(client, "select :SCHEMA.quarantine_sample('fp')");
    assert.is(sample, duty === "reader_payload" ? "ok" : "42501");
    const listed = await client.query(database.sql("select payload from :SCHEMA.list_schedules()"));
    assert.ok(listed.rows.length > 0 && listed.rows.every((row) => row.payload === null), duty);
    const schedules = await try1(client, "select * from :SCHEMA.list_schedules_with_payload()");
    assert.is(schedules, duty === "reader_payload" ? "ok" : "42501", duty);
    await client.end();
  }
  const worker = await as("worker");
  assert.is(await try1(worker, "select * from :SCHEMA.quarantine_list()"), "42501");
  await worker.end();
  await query("delete from :SCHEMA.quarantine");
});

access("a producer can't read what it wrote, a reader sees no payload", async () => {
  const producer = await as("producer");
  const { rows } = await producer.query(
    database.sql("select :SCHEMA.enqueue('task', payload => '{\"secret\": 1}') as id"),
  );
  const id = rows[0].id as string;
  assert.is(await try1(producer, "select * from :SCHEMA.get_job($1)", [id]), "42501");
  const reader = await as("reader");
  const seen = await reader.query(database.sql("select * from :SCHEMA.get_job($1)"), [id]);
  assert.is(seen.rows[0].payload, null);
  assert.is(seen.rows[0].headers, null);
  assert.ok(!JSON.stringify(seen.rows).includes("secret"));
  const trusted = await as("reader_payload");
  const whole = await trusted.query(database.sql("select payload from :SCHEMA.get_job($1, true)"), [id]);
  assert.equal(whole.rows[0].payload, Buffer.from('{"secret": 1}'));
});

access("grants survive a further migration, and a role made later gets what it is given (R-91)", async () => {
  const [definition] = await query(
    "select pg_get_functiondef(':SCHEMA.schema_version'::regproc) as text, " +
      "obj_description(':SCHEMA.schema_version'::regproc) as comment",
  );
  const again = async (): Promise<void> => {
    await query("alter function :SCHEMA.schema_version() rename to schema_version_old");
    await database.pool.query(String(definition?.["text"]));
    await query("revoke all on function :SCHEMA.schema_version from public");
  };
  const reader = await as("reader");
  assert.is(await try1(reader, "select :SCHEMA.schema_version()"), "ok");
  await again();
  assert.is(await try1(reader, "select :SCHEMA.schema_version()"), "42501");
  await query("select :SCHEMA.apply_grants()");
  assert.is(await try1(reader, "select :SCHEMA.schema_version()"), "ok");
  await query("drop function :SCHEMA.schema_version_old()");

  await query(`create role ${pg.escapeIdentifier(roleOf("later"))}`);
  const later = await as("later");
  assert.is(await try1(later, "select :SCHEMA.enqueue('task')"), "42501");
  await query("select :SCHEMA.grant_access($1, 'producer')", [roleOf("later")]);
  assert.is(await try1(later, "select :SCHEMA.enqueue('task')"), "ok");
  await query("select :SCHEMA.grant_access($1, 'reader')", [roleOf("later")]);
  await query("select :SCHEMA.revoke_access($1, 'producer')", [roleOf("later")]);
  assert.is(await try1(later, "select :SCHEMA.enqueue('task')"), "42501");
  assert.is(await try1(later, "select * from :SCHEMA.list_jobs()"), "ok");
  await query("select :SCHEMA.revoke_access($1, 'reader')", [roleOf("later")]);
  assert.is(await try1(later, "select :SCHEMA.schema_version()"), "42501");
  await later.end();
  await query(`drop role ${pg.escapeIdentifier(roleOf("later"))}`);
});

access("bad roles and duties are refused, and no name reaches SQL as text", async () => {
  for (const [role, duty, code] of [
    ["nobody-here", "reader", "HR006"],
    ["public", "reader", "HR006"],
    ['"; drop table x; --', "reader", "HR006"],
    ["", "reader", "HR007"],
    [null, "reader", "HR007"],
    [roleOf("none"), "owner", "HR007"],
    [roleOf("none"), "everybody", "HR007"],
    [roleOf("none"), null, "HR007"],
  ] as const) {
    for (const name of ["grant_access", "revoke_access"]) {
      const answer = await refusal(query(`select :SCHEMA.${name}($1, $2)`, [role, duty]));
      assert.is(answer.code, code, `${name} ${role} ${duty}`);
    }
  }
  const odd = `${database.name} O'Neil "x" %I`;
  await query(`create role ${pg.escapeIdentifier(odd)}`);
  await query("select :SCHEMA.grant_access($1, 'producer')", [odd]);
  const client = await database.connect();
  await client.query(`set role ${pg.escapeIdentifier(odd)}`);
  assert.is(await try1(client, "select :SCHEMA.enqueue('task')"), "ok");
  await client.end();
  await query("select :SCHEMA.revoke_access($1, 'producer')", [odd]);
  await query(`drop role ${pg.escapeIdentifier(odd)}`);
});

access("what a caller plants in its temporary schema or search_path changes nothing (R-92)", async () => {
  const id = await enqueue(database, { queue: "planted", kind: "real" });
  const [role, worker] = [await as("producer"), await as("worker")];
  for (const client of [role, worker]) {
    await client.query("create temp table job as select 1 as key, 'x'::text as id");
    await client.query("create temp table lease (lease_no int)");
    await client.query("create temp table queue as select 'planted'::text as queue, true as paused");
    await client.query("create type pg_temp.job_state as enum ('nonsense')");
    await client.query("create function pg_temp.now_ms() returns bigint language sql as 'select 0::bigint'");
    await client.query("create function pg_temp.octet_length(text) returns int language sql as 'select 0'");
    await client.query("set search_path = pg_temp, public");
  }
  await role.query(database.sql("select :SCHEMA.enqueue('real', queue => 'planted')"));
  const claims = await worker.query(database.sql("select id from :SCHEMA.admit('w', '{planted}')"));
  assert.is(claims.rowCount, 2);
  assert.ok(claims.rows.some((row) => row.id === id));
  const [row] = await query("select claimed_at_ms from :SCHEMA.get_job($1)", [id]);
  assert.ok(Number(row?.["claimed_at_ms"]) > 1_500_000_000_000);
  await role.query("set search_path = ''");
  await role.query(database.sql("select :SCHEMA.enqueue('real', queue => 'planted')"));
  await ack(database, await admitOne(database, { queue: "planted" }), "success");
});

access.after(async () => {
  for (const duty of [...duties, "none"]) {
    await query(`drop owned by ${pg.escapeIdentifier(roleOf(duty))}`);
    await query(`drop role ${pg.escapeIdentifier(roleOf(duty))}`);
  }
  await database.close();
});
access.run();
