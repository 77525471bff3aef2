import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseError } from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../scripts/lib/source.js";
import { schemaName } from "../../src/migrate/schema-name.js";
import { migrate } from "../../src/index.js";
import { testDatabase } from "./support/database.js";

const readme = suite("README");
const text = await readFile(join(root, "README.md"), "utf8");
const snippets = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, body]) => body ?? "");

readme("the SQL runs as it says, and the refusal is a refusal", async () => {
  const database = await testDatabase({ installed: false });
  await migrate({ connectionString: database.url, schema: schemaName("headrace").name });
  const [life] = snippets("sql");
  assert.ok(life);
  const statements = life.split(/;\n/).filter((statement) => /^\s*select/m.test(statement));
  assert.is(statements.length, 5);
  let rows: unknown[] = [];
  for (const statement of statements) {
    const expected = /ERROR (HR\d{3})/.exec(statement)?.[1];
    const failure = await database.pool.query(statement).then(
      (result) => void (rows = result.rows as unknown[]),
      (error: unknown) => error as DatabaseError,
    );
    assert.is(failure?.code, expected, failure?.message);
  }
  assert.equal(rows, [{ state: "completed", attempt: 0, fence: "1" }]);

  if (spawnSync("psql", ["--version"]).error === undefined) {
    await database.pool.query("select headrace.delete_job('welcome-ada')");
    const { stdout, stderr } = spawnSync("psql", [database.url, "-X"], { input: life, encoding: "utf8" });
    assert.match(stdout, /completed/);
    assert.is(stderr.match(/ERROR/g)?.length, 1);
  }
  await database.close();
});

readme("the TypeScript runs, and stops at SIGTERM", async () => {
  const database = await testDatabase({ installed: false });
  await migrate({ connectionString: database.url });
  const [program] = snippets("ts");
  assert.ok(program);
  const folder = await mkdtemp(join(root, "test", "ts", "readme-"));
  try {
    const file = join(folder, "readme.ts");
    await writeFile(file, program.replace('from "headrace"', 'from "../../../src/index.js"'));
    const child = spawn(process.execPath, ["--import", "tsx", file], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (output.includes("welcome, ada@example.org")) child.kill("SIGTERM");
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
    child.on("exit", () => clearTimeout(timer));
    // The snippet leaves the store open, so the process itself is ended here once its worker has stopped.
    const ended = once(child, "exit");
    for (let tries = 0; tries < 600 && !output.includes("welcome"); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(output, /welcome, ada@example.org/);
    for (let tries = 0; tries < 300; tries++) {
      const rows = await database.pool.query("select from headrace.list_workers() where status = 'stopped'");
      if (rows.rowCount === 1) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { rows } = await database.pool.query<{ status: string }>(
      "select status from headrace.list_workers()",
    );
    assert.equal(rows, [{ status: "stopped" }]);
    child.kill("SIGKILL");
    await ended;
  } finally {
    await rm(folder, { recursive: true });
  }
  await database.close();
});

readme("every link leads somewhere", async () => {
  for (const [, target] of text.matchAll(/\]\(([^)#]+)\)/g)) {
    if (!target || target.startsWith("http")) continue;
    assert.ok(await readFile(join(root, target)).catch(() => undefined), target);
  }
});

readme.run();
