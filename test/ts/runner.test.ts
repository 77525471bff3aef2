import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../scripts/lib/source.js";
import { runSqlFile } from "../runner/sql-file.js";
import { runTsFile } from "../runner/ts-file.js";
import { runContext } from "./support/run-context.js";

const runner = suite<{ folder: string }>("test runner");
runner.before(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), "headrace-runner-"));
});
runner.after(({ folder }) => rm(folder, { recursive: true }));

const uvu = `import { test } from ${JSON.stringify(join(root, "node_modules/uvu/dist/index.mjs"))};\n`;

async function ts(folder: string, text: string): Promise<{ passed: number; failed: number; output: string }> {
  const file = join(folder, "sample.test.mts");
  await writeFile(file, text);
  return runTsFile(file, {});
}

runner("counts what uvu counts", async ({ folder }) => {
  const text = `${uvu} test("a", () => {}); test("b", () => { throw new Error("no"); }); test("c", () => {}); test.run();`;
  const { passed, failed } = await ts(folder, text);
  assert.equal([passed, failed], [2, 1]);
});

runner("fails a file without tests, one that crashes, and one that does not end", async ({ folder }) => {
  const samples = {
    "ran no test": uvu,
    "ended with code 3": `${uvu} test("a", () => {}); test.run(); setTimeout(() => process.exit(3), 100);`,
    "stopped after 1 s": `// timeout: 1 s\n${uvu} test("a", () => {}); test.run(); setInterval(() => {}, 1000);`,
  };
  for (const [message, text] of Object.entries(samples)) {
    const { failed, output } = await ts(folder, text);
    assert.is(failed, 1, message);
    assert.match(output, message);
  }
});

async function sql(
  folder: string,
  text: string,
): Promise<{ passed: number; failed: number; output: string }> {
  const file = join(folder, "sample.sql");
  await writeFile(file, text);
  return runSqlFile(file, await runContext());
}

runner("runs each SQL test in a transaction that is rolled back, behind the preamble", async ({ folder }) => {
  const result = await sql(
    folder,
    `create function pg_temp.answer() returns integer language sql as 'select 42';
-- test: one
create table :SCHEMA.mine ();
do $$ begin assert pg_temp.answer() = 42; end $$;
-- test: two
create table :SCHEMA.mine ();
`,
  );
  assert.equal([result.passed, result.failed], [2, 0], result.output);
});

runner("names the line of a failure in an SQL test", async ({ folder }) => {
  const { passed, failed, output } = await sql(
    folder,
    `-- test: an assertion
select 1;
do $$
begin
  assert true;
  assert false, 'six';
end $$;
-- test: a syntax error
select
  frmo;
-- test: a sound one
select 1;
`,
  );
  assert.equal([passed, failed], [1, 2]);
  assert.match(output, /sample\.sql:6: six/);
  assert.match(output, /sample\.sql:10: column "frmo"/);
});

runner("checks deferred constraints, and demands a test", async ({ folder }) => {
  const deferred = await sql(
    folder,
    `-- test: deferred
create table pg_temp.a (a integer primary key);
create table pg_temp.b (a integer references pg_temp.a deferrable initially deferred);
insert into pg_temp.b values (1);
`,
  );
  assert.is(deferred.failed, 1);
  assert.match(deferred.output, /violates foreign key/);
  assert.is((await sql(folder, "select 1;")).failed, 1);
});

runner.run();
