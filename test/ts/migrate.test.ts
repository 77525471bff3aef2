// timeout: 300 s
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { migrate as graphileMigrate, Logger } from "graphile-migrate";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../src/index.js";
import { compileSql, migrate, MigrationError, status } from "../../src/migrate/index.js";
import { migrationsFolder, root } from "../../scripts/lib/source.js";
import { testDatabase, type TestDatabase } from "./support/database.js";
import { migrationBody, migrationFolder } from "./support/migrations.js";

const run = promisify(execFile);

const migrations = suite<{ database: TestDatabase }>("migrate");
migrations.before.each(async (context) => {
  context.database = await testDatabase({ installed: false });
});
migrations.after.each(async ({ database }) => database.close());

const oddNames = [
  "headrace",
  "Job Q",
  "it's",
  'say "hi"',
  "select",
  "back\\slash",
  "a.b",
  "$",
  "$1",
  ":SCHEMA",
  "%s %I",
  "--",
  "名前",
  "é".repeat(31) + "x",
];
for (const schema of oddNames) {
  migrations(`installs into ${schema}`, async ({ database: { pool } }) => {
    const result = await migrate({ pool, schema });
    assert.is(result.version, (await status({ pool, schema })).shipped);
    const identifier = pg.escapeIdentifier(schema);
    const { rows } = await pool.query(`select ${identifier}.enqueue('a') as id`);
    assert.ok(rows[0].id);
    const claims = await pool.query(`select * from ${identifier}.admit('w', array['default'], 1, 1000)`);
    assert.is(claims.rows[0]?.id, rows[0].id);
    assert.equal(await foreignObjects(pool, [schema]), []);
  });
}

migrations(
  "odd names live a whole life side by side, and uninstall leaves nothing (R-55)",
  async ({ database }) => {
    const { pool } = database;
    const names = ["My.Schema", "user", "1jobs", "schéma", 'a"b'];
    const role = `${database.name}_reader`;
    await pool.query(`create role ${pg.escapeIdentifier(role)}`);
    for (const schema of names) {
      await migrate({ pool, schema });
      assert.equal((await migrate({ pool, schema })).applied, []);
    }
    const month = 31 * 86_400_000;
    for (const schema of names) {
      const identifier = pg.escapeIdentifier(schema);
      const store = new PgStore(pool, { schema, callTimeoutMs: 60_000 });
      await pool.query(`select ${identifier}.grant_access($1, 'reader')`, [role]);
      await store.setArchivePolicy("q", 12 * month);
      await store.upsertSchedule({ id: "s", spec: "@yearly", kind: "task" });
      await store.enqueue([1, 2, 3].map((n) => ({ kind: "task", queue: "q", payload: n, retentionMs: 1 })));
      const claims = await store.admit({ worker: "w", queues: ["q"], capacity: 2 });
      assert.is(claims.length, 2);
      await store.ack(claims[0]!, "success");
      await store.ack(claims[1]!, "retry", { error: "again", delayMs: 1 });
      // Into a month that has no partition yet.
      await pool.query(`insert into ${identifier}.test_clock (offset_ms) values ($1)`, [3 * month]);
      assert.ok((await store.makeArchiveMonths()) > 0);
      assert.is(await store.evictRetained(), 1);
      assert.equal(
        (await store.runDuties("w")).filter(({ error }) => error !== null),
        [],
      );
      assert.is((await store.listArchive({ queue: "q" })).jobs.length, 1);
      assert.is((await store.counts()).byState.available, 2);
      await store.reindexConcurrently("job_line");
      assert.equal(await store.verifyInvariants(), []);
    }
    assert.equal(await foreignObjects(pool, names), []);
    const { rows: stray } = await pool.query(
      "select c.oid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhrelid " +
        "join pg_class p on p.oid = i.inhparent where c.relnamespace <> p.relnamespace",
    );
    assert.equal(stray, []);
    for (const [at, schema] of names.entries()) {
      await pool.query(`drop schema ${pg.escapeIdentifier(schema)} cascade`);
      assert.equal(await foreignObjects(pool, names.slice(at + 1)), []);
      // The others did not notice.
      for (const other of names.slice(at + 1)) {
        const left = await new PgStore(pool, { schema: other }).counts();
        assert.is(left.byState.available, 2);
      }
    }
    // Whatever hangs on a role, a default or a lock would keep it, or be seen here.
    const { rows } = await pool.query<{ n: number }>(
      "select ((select count(*) from pg_default_acl) + (select count(*) from pg_largeobject_metadata) + " +
        "(select count(*) from pg_publication) + (select count(*) from pg_locks where locktype = 'advisory' and " +
        "database = (select oid from pg_database where datname = current_database())))::int as n",
    );
    assert.equal(rows, [{ n: 0 }]);
    await pool.query(`drop role ${pg.escapeIdentifier(role)}`);
  },
);

migrations("refuses names that PostgreSQL or pasting would not survive", async ({ database: { pool } }) => {
  const refused = [
    "",
    "x".repeat(64),
    "é".repeat(32),
    "a\nb",
    "a\0b",
    "pg_mine",
    "a$$b",
    "$tag$",
    "a*/b",
    "/*",
  ];
  for (const schema of refused) {
    await rejects(() => migrate({ pool, schema }), /schema name/);
  }
});

migrations("keeps two schemas of one database apart", async ({ database: { pool } }) => {
  await migrate({ pool, schema: "one" });
  await migrate({ pool, schema: "two" });
  await pool.query("select one.enqueue('a')");
  const { rows } = await pool.query("select count(*)::int as jobs from two.job");
  assert.is(rows[0].jobs, 0);
  await pool.query("drop schema one cascade");
  await pool.query("select two.enqueue('a')");
  assert.equal(await foreignObjects(pool, ["two"]), []);
});

migrations("does nothing the second time", async ({ database: { pool } }) => {
  const first = await migrate({ pool });
  const second = await migrate({ pool });
  assert.ok(first.applied.length > 0);
  assert.equal(second.applied, []);
  assert.is(second.version, first.version);
});

migrations("says what it would do, and does not", async ({ database: { pool } }) => {
  const { applied, version } = await migrate({ pool, dryRun: true });
  assert.ok(applied.length > 0);
  assert.is(version, 0);
  assert.equal(await foreignObjects(pool, []), []);
  const found = await status({ pool });
  assert.equal(
    found.pending,
    applied.map(({ filename }) => filename),
  );
});

migrations("leaves no trace in the session", async ({ database }) => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const settings = async (): Promise<unknown> =>
    (await pool.query("select name, setting from pg_settings where source = 'session' order by 1")).rows;
  const before = await settings();
  await migrate({ pool });
  assert.equal(await settings(), before);
  const { rows } = await pool.query(`
    select (select count(*)::int from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks,
           (select count(*)::int from pg_prepared_statements) as prepared`);
  assert.equal(rows, [{ locks: 0, prepared: 0 }]);
  await pool.end();
});

migrations("does not depend on the role's settings", async ({ database }) => {
  await database.pool.query(`
    do $$ begin
      execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read');
      execute format('alter database %I set statement_timeout = 1', current_database());
      execute format('alter database %I set search_path = pg_temp', current_database());
      execute format('alter database %I set standard_conforming_strings = off', current_database());
    end $$`);
  const result = await migrate({ connectionString: database.url, schema: "it's \\" });
  assert.ok(result.version > 0);
});

migrations("needs no right on the database where the schema exists", async ({ database }) => {
  const role = `${database.name}_owner`;
  await database.pool.query(`create role "${role}" login password 'secret'`);
  try {
    await database.pool.query(`create schema mine authorization "${role}"`);
    const url = new URL(database.url);
    url.username = role;
    url.password = "secret";
    assert.ok((await migrate({ connectionString: url.href, schema: "mine" })).version > 0);
  } finally {
    await database.pool.query(`drop owned by "${role}" cascade; drop role "${role}"`);
  }
});

migrations("eight processes at once: one works, the others wait (R-86)", async ({ database }) => {
  const main = join(root, "src", "cli", "main.ts");
  const outputs = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { stdout } = await run(process.execPath, [
        "--import",
        "tsx",
        main,
        "migrate",
        "--url",
        database.url,
      ]);
      return stdout;
    }),
  );
  const { shipped } = await status({ pool: database.pool });
  const installed = outputs.join("").match(/^installed /gm);
  assert.is(installed?.length, shipped);
  for (const output of outputs) assert.match(output, `schema headrace is at version ${shipped}`);
});

migrations("a process killed in the middle leaves whole migrations behind (R-89)", async ({ database }) => {
  const { folder, remove } = await migrationFolder([
    ["one", migrationBody(1)],
    ["two", migrationBody(2, "create table :SCHEMA.half (); select pg_sleep(3);")],
  ]);
  const program = `import { migrate } from "./src/migrate/index.ts";
    await migrate(${JSON.stringify({ connectionString: database.url, folder })});`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    cwd: root,
  });
  try {
    await until(async () => {
      const { rows } = await database.pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
      );
      return rows.length > 0;
    });
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.is((await status({ pool: database.pool, folder })).version, 1);
    // Waits until the server has noticed, and starts over.
    assert.is((await migrate({ pool: database.pool, folder })).version, 2);
    await database.pool.query("select from headrace.half");
  } finally {
    child.kill("SIGKILL");
    await remove();
  }
});

migrations("steps back from a lock and comes again", async ({ database }) => {
  const { folder, remove } = await migrationFolder([
    ["one", migrationBody(1, "create table :SCHEMA.busy ();")],
    ["two", migrationBody(2, "alter table :SCHEMA.busy add column a integer;")],
  ]);
  const first = await migrationFolder([["one", migrationBody(1, "create table :SCHEMA.busy ();")]]);
  await migrate({ pool: database.pool, folder: first.folder });
  const holder = await database.connect();
  await holder.query("begin; lock table headrace.busy in access share mode");

  const options = { pool: database.pool, folder, lockTimeoutMs: 20 };
  await rejects(() => migrate({ ...options, lockAttempts: 2 }), /lock timeout/);
  const patient = migrate(options);
  await sleep(300);
  await holder.query("commit");
  assert.is((await patient).version, 2);
  await Promise.all([remove(), first.remove()]);
});

migrations("a migration that does not record itself is refused", async ({ database: { pool } }) => {
  const { folder, remove } = await migrationFolder([["one", migrationBody(1).replace(/insert .*/, "")]]);
  await rejects(() => migrate({ pool, folder }), /does not record version 1/);
  assert.equal(await foreignObjects(pool, []), []);
  await remove();
});

migrations("an error names file, line and included file", async ({ database: { pool } }) => {
  const body =
    "--! Included enqueue/broken.sql\nselect 1;\nselect\n  frmo;\n--! EndIncluded enqueue/broken.sql";
  const { folder, remove } = await migrationFolder([["broken", body]]);
  await rejects(
    () => migrate({ pool, folder }),
    /000001-broken\.sql, line 4, enqueue\/broken\.sql line 3: column "frmo"/,
  );
  await remove();
});

const three = (): (readonly [string, string])[] =>
  ["one", "two", "three"].map(
    (name, at) => [name, migrationBody(at + 1, `create table :SCHEMA.${name} ();`)] as const,
  );

const tampered: readonly (readonly [
  name: string,
  (files: (readonly [string, string])[]) => (readonly [string, string])[],
  RegExp,
])[] = [
  ["edited", ([, ...rest]) => [["one", migrationBody(1)], ...rest], /000001-one\.sql has other contents/],
  [
    "renamed",
    ([, ...rest]) => [["first", three()[0]?.[1] ?? ""], ...rest],
    /000001-first\.sql was renamed; it was installed as "one"/,
  ],
  [
    "inserted",
    ([one, ...rest]) => [one ?? ["", ""], ["between", "select 1;"], ...rest],
    /000002-between\.sql has other contents/,
  ],
];
for (const [name, change, message] of tampered) {
  migrations(`refuses a file that was ${name} (R-90)`, async ({ database: { pool } }) => {
    const before = await migrationFolder(three());
    const after = await migrationFolder(change(three()));
    await migrate({ pool, folder: before.folder });
    await rejects(() => migrate({ pool, folder: after.folder }), message);
    const found = await status({ pool, folder: after.folder });
    assert.match(found.differences.join("\n"), message);
    await Promise.all([before.remove(), after.remove()]);
  });
}

migrations("refuses files whose chain is broken, and names each", async ({ database: { pool } }) => {
  const edited = await migrationFolder(three());
  await appendFile(edited.files[0] ?? "", "select 1;\n");
  await appendFile(edited.files[2] ?? "", "select 1;\n");
  const error = await rejects(() => migrate({ pool, folder: edited.folder }), /not sound/);
  assert.equal(error instanceof MigrationError ? error.differences : [], [
    "000001-one.sql was edited after it was committed",
    "000003-three.sql was edited after it was committed",
  ]);

  const missing = await migrationFolder(three());
  await rm(missing.files[1] ?? "");
  await rejects(
    () => migrate({ pool, folder: missing.folder }),
    /migration 2 is missing before 000003-three\.sql/,
  );

  const moved = await migrationFolder(three());
  await rename(moved.files[2] ?? "", (moved.files[2] ?? "").replace("000003", "000002"));
  await rejects(() => migrate({ pool, folder: moved.folder }), /has the number of another file/);
  assert.equal(await foreignObjects(pool, []), []);
  await Promise.all([edited.remove(), missing.remove(), moved.remove()]);
});

migrations("never goes back from a newer schema", async ({ database: { pool } }) => {
  const newer = await migrationFolder(three());
  const older = await migrationFolder(three().slice(0, 2));
  await migrate({ pool, folder: newer.folder });
  assert.equal(await migrate({ pool, folder: older.folder }), {
    schema: "headrace",
    version: 3,
    applied: [],
    ahead: true,
    invalidIndexes: [],
  });
  await Promise.all([newer.remove(), older.remove()]);
});

migrations("upgrades from each version", async ({ database: { pool } }) => {
  const folders = await Promise.all([1, 2, 3].map((count) => migrationFolder(three().slice(0, count))));
  for (const [at, { folder }] of folders.entries()) {
    const { applied } = await migrate({ pool, folder });
    assert.equal(
      applied.map(({ version }) => version),
      [at + 1],
    );
  }
  await Promise.all(folders.map((folder) => folder.remove()));
});

migrations("the printed SQL installs the same, and refuses to run twice", async ({ database }) => {
  const schema = 'Job\'s "Q"';
  const script = await compileSql({ schema });
  await execute(database.url, script);
  const found = await status({ pool: database.pool, schema });
  assert.equal([found.version, found.pending, found.differences], [found.shipped, [], []]);
  assert.ok(found.applied.every(({ hash }) => hash !== null));
  assert.equal((await migrate({ pool: database.pool, schema })).applied, []);
  await rejects(
    () => execute(database.url, script),
    /migration 1 follows version 0, but version \d+ is installed/,
  );
});

migrations("the printed SQL can start at a version", async ({ database }) => {
  const all = await migrationFolder(three());
  const one = await migrationFolder(three().slice(0, 1));
  await rejects(
    async () => execute(database.url, await compileSql({ folder: all.folder, from: 1 })),
    /migration 2 follows version 1, but version 0 is installed/,
  );
  await migrate({ pool: database.pool, folder: one.folder });
  await execute(database.url, await compileSql({ folder: all.folder, from: 1 }));
  const found = await status({ pool: database.pool, folder: all.folder });
  assert.equal([found.version, found.differences], [3, []]);
  await Promise.all([all.remove(), one.remove()]);
});

migrations("lives beside a host that uses graphile-migrate", async ({ database }) => {
  const host = await mkdtemp(join(tmpdir(), "headrace-host-"));
  const { folder, remove } = await migrationFolder([["host", "create table public.host ();"]]);
  await rename(folder, join(host, "committed"));
  await graphile(host, database.url);
  const ledger = async (): Promise<unknown> =>
    (await database.pool.query("select * from graphile_migrate.migrations")).rows;
  const before = await ledger();

  assert.ok((await migrate({ pool: database.pool })).version > 0);
  assert.equal(await ledger(), before);
  await graphile(host, database.url);
  assert.equal(await ledger(), before);
  assert.equal((await migrate({ pool: database.pool })).applied, []);
  await Promise.all([rm(host, { recursive: true }), remove()]);
});

migrations("agrees with what graphile-migrate installed", async ({ database }) => {
  await graphile(migrationsFolder, database.url, {
    beforeAllMigrations: [{ _: "sql", file: "schema.sql" }],
    placeholders: { ":SCHEMA": '"headrace"', ":SCHEMA_LITERAL": "'headrace'" },
  });
  const found = await status({ pool: database.pool });
  assert.equal([found.version, found.pending, found.differences], [found.shipped, [], []]);
  assert.equal((await migrate({ pool: database.pool })).applied, []);
});

migrations.run();

/** Schemas, relations, functions and types that are neither PostgreSQL's nor in these schemas. */
async function foreignObjects(pool: pg.Pool, ours: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ object: string }>(
    `with schemas as (
       select oid, nspname from pg_namespace
       where nspname not like 'pg\\_%' and nspname <> 'information_schema' and nspname <> all ($1)
     )
     select nspname as object from schemas where nspname <> 'public'
     union all select nspname || '.' || relname from pg_class join schemas s on s.oid = relnamespace
     union all select nspname || '.' || proname from pg_proc join schemas s on s.oid = pronamespace
     union all select nspname || '.' || typname from pg_type join schemas s on s.oid = typnamespace
     union all select extname from pg_extension where extname <> 'plpgsql'
     union all select evtname from pg_event_trigger`,
    [ours],
  );
  return rows.map(({ object }) => object);
}

/** With psql where it is installed, which is how it is meant to be run. */
async function execute(url: string, script: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "headrace-script-"));
  const file = join(folder, "script.sql");
  await mkdir(folder, { recursive: true });
  await writeFile(file, script);
  try {
    // The environment says otherwise, and the file is UTF-8.
    const env = { ...process.env, PGCLIENTENCODING: "LATIN1" };
    await run("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file], { env });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(script).finally(() => client.end());
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function graphile(folder: string, connectionString: string, more: object = {}): Promise<void> {
  const logger = new Logger(() => () => undefined);
  await graphileMigrate({ migrationsFolder: folder, connectionString, logger, ...more });
  // Its pool lives 200 ms longer.
  await sleep(300);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition());) {
    if (Date.now() > deadline) throw new Error("did not happen in time");
    await sleep(20);
  }
}

async function rejects(work: () => Promise<unknown>, message: RegExp): Promise<unknown> {
  let failure: unknown;
  try {
    await work();
  } catch (error) {
    failure = error;
  }
  assert.ok(failure instanceof Error, "should have failed");
  const { stderr } = failure as { stderr?: string };
  assert.match(stderr ?? failure.message, message);
  return failure;
}
