import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../scripts/lib/source.js";
import { loadTasks } from "../../src/cli/load-tasks.js";
import { run } from "../../src/cli/run.js";
import { migrate, PgStore } from "../../src/index.js";
import { status } from "../../src/migrate/index.js";
import { testDatabase, type TestDatabase } from "./support/database.js";

const cli = suite<{ database: TestDatabase }>("command line");
cli.before(async (context) => {
  context.database = await testDatabase({ installed: false });
});
cli.after(({ database }) => database.close());

async function headrace(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const context = {
    env,
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
  };
  const code = await run(args, context);
  return { code, out, err };
}

cli("explains itself", async () => {
  const overview = await headrace(["--help"]);
  assert.is(overview.code, 0);
  assert.match(overview.out, /migrate +install or upgrade/);
  assert.is((await headrace([])).code, 2);
  for (const args of [
    ["migrate", "--help"],
    ["help", "migrate"],
  ]) {
    const { code, out } = await headrace(args);
    assert.is(code, 0);
    assert.match(out, /Usage: headrace migrate/);
  }
});

cli("tells its version", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  assert.equal(await headrace(["--version"]), { code: 0, out: `${version}\n`, err: "" });
});

cli("says what a database's URL looks like, without what it was given", async () => {
  for (const wrong of ["nonsense", "host=/tmp password=secret", "localhost:5432/app"]) {
    for (const [args, env, source] of [
      [["migrate"], { DATABASE_URL: wrong }, "DATABASE_URL"],
      [["duties", "--once", "--url", wrong], {}, "--url"],
    ] as const) {
      const { code, err } = await headrace(args, env);
      assert.is(code, 2, err);
      assert.match(err, `${source} must look like postgres://`);
      assert.not.match(err, wrong);
    }
  }
  const { code } = await headrace(["migrate", "--sql"], { DATABASE_URL: "nonsense" });
  assert.is(code, 0);
});

cli("says so where no database was named", async () => {
  const given = { ...process.env };
  Object.assign(process.env, { PGHOST: "127.0.0.1", PGPORT: "1" });
  try {
    for (const command of ["migrate", "duties"]) {
      const { code, err } = await headrace([command]);
      assert.is(code, 1);
      assert.match(err, /ECONNREFUSED[^]*no database was named: set DATABASE_URL/);
    }
    for (const [args, env] of [
      [["migrate", "--url", "postgresql://127.0.0.1:1/none"], {}],
      [["migrate"], { DATABASE_URL: "postgresql://127.0.0.1:1/none" }],
      [["migrate"], { PGHOST: "127.0.0.1" }],
    ] as const) {
      const { err } = await headrace(args, env);
      assert.match(err, /ECONNREFUSED/);
      assert.not.match(err, /no database was named/);
    }
  } finally {
    for (const key of ["PGHOST", "PGPORT"] as const) {
      if (given[key] === undefined) Reflect.deleteProperty(process.env, key);
      else process.env[key] = given[key];
    }
  }
});

cli("tells a wrong command line from a failure", async () => {
  const wrong = [
    ["nonsense"],
    ["migrate", "--nonsense"],
    ["migrate", "stray"],
    ["migrate", "--sql", "--status"],
    ["migrate", "--from", "1"],
    ["migrate", "--sql", "--from", "x"],
  ];
  for (const args of wrong) assert.is((await headrace(args)).code, 2, args.join(" "));
  const { code, err } = await headrace(["migrate", "--url", "postgresql://127.0.0.1:1/none"]);
  assert.is(code, 1);
  assert.match(err, /headrace migrate: .*ECONNREFUSED/);
});

cli("migrates, and tells about it", async ({ database }) => {
  const env = { DATABASE_URL: database.url, HEADRACE_SCHEMA: "from the environment" };
  const before = await headrace(["migrate", "--status"], env);
  assert.is(before.code, 3);
  assert.match(before.out, /pending: 000001-/);

  assert.match((await headrace(["migrate", "--dry-run"], env)).out, /would install 000001-/);
  const done = await headrace(["migrate"], env);
  assert.is(done.code, 0, done.err);
  assert.match(done.out, /installed 000001-.*\nschema from the environment is at version/);

  const after = await headrace(["migrate", "--status"], env);
  assert.is(after.code, 0);
  assert.match(after.out, /sha1:/);

  await database.pool.query(`update "from the environment".schema_migration set hash = 'sha1:other'`);
  const differs = await headrace(["migrate", "--status"], env);
  assert.is(differs.code, 3);
  assert.match(differs.out, /differs: 000001-.* has other contents/);
  assert.is((await headrace(["migrate"], env)).code, 3);
});

cli("prints SQL without a database", async () => {
  const { code, out } = await headrace(["migrate", "--sql", "--schema", "mine"]);
  assert.is(code, 0);
  assert.match(out, /create table "mine"\./);
  assert.not.match(out, /:SCHEMA/);
});

cli("prints nothing after a migration that does not exist, and says which do", async () => {
  const newest = await headrace(["migrate", "--sql", "--from", "1"]);
  assert.is(newest.code, 0, newest.err);
  const none = await headrace(["migrate", "--sql", "--from", "99"]);
  assert.is(none.code, 1);
  assert.is(none.out, "");
  assert.match(none.err, /there is no migration 99; this package has 1 \(initial\)/);
});

cli("an invalid index is named, with what to do, until it was rebuilt", async ({ database }) => {
  const { pool, url } = database;
  const env = { DATABASE_URL: url, HEADRACE_SCHEMA: "indexes" };
  assert.equal((await headrace(["migrate"], env)).err, "");
  const store = new PgStore(pool, { schema: "indexes" });
  // What a rebuild or a build that was cancelled leaves, without the wait for one.
  const set = (name: string, valid: boolean): Promise<unknown> =>
    pool.query("update pg_index set indisvalid = $2 where indexrelid = $1::regclass", [
      `indexes.${name}`,
      valid,
    ]);
  await pool.query("create index job_due_ccnew on indexes.job (scheduled_at_ms)");
  await set("job_due_ccnew", false);
  for (const args of [["migrate"], ["migrate", "--status"], ["migrate", "--dry-run"]]) {
    const { code, err } = await headrace(args, env);
    assert.is(code, 0, err);
    assert.is(
      err,
      "note: index job_due_ccnew is what a rebuild has left or is making; the next rebuild clears it up\n",
    );
  }
  assert.equal(await store.verifyInvariants(), []);

  await set("job_waiting", false);
  for (const args of [["migrate"], ["migrate", "--status"]]) {
    const { code, err } = await headrace(args, env);
    assert.is(code, 3, err);
    assert.match(err, /^index job_waiting is not valid: rebuild it .*reindexable\('job_waiting'\)/m);
  }
  assert.equal(
    (await store.verifyInvariants()).map(({ invariant, subject }) => [invariant, subject]),
    [["an index is valid", "job_waiting"]],
  );
  assert.equal((await migrate({ pool, schema: "indexes" })).invalidIndexes, [
    { name: "job_due_ccnew", leftover: true },
    { name: "job_waiting", leftover: false },
  ]);
  await store.reindexConcurrently("job_waiting");
  await store.reindexConcurrently("job_due");
  assert.equal(await headrace(["migrate"], env), {
    code: 0,
    out: (await headrace(["migrate"], env)).out,
    err: "",
  });
  assert.equal((await status({ pool, schema: "indexes" })).invalidIndexes, []);
});

cli("a task may be called like what every object has", async () => {
  const folder = await mkdtemp(join(tmpdir(), "headrace-tasks-"));
  try {
    for (const kind of ["constructor", "__proto__", "mail"])
      await writeFile(join(folder, `${kind}.mjs`), "export default () => 1;\n");
    assert.equal(Object.keys(await loadTasks(folder)).sort(), ["__proto__", "constructor", "mail"]);
    await writeFile(join(folder, "mail.js"), "export default () => 2;\n");
    const error = await loadTasks(folder).catch((thrown: unknown) => thrown);
    assert.match((error as Error).message, /two modules are tasks of the kind mail/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

cli("runs as a program", async ({ database }) => {
  const main = join(root, "src", "cli", "main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", main, "migrate"], {
    env: { ...process.env, DATABASE_URL: database.url },
  });
  assert.match(stdout, /schema headrace is at version/);
});

cli.run();
