// timeout: 240 s
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate } from "../../src/index.js";
import { testDatabase } from "./support/database.js";

/** Every snippet of the README and of the docs runs. A line `<!-- not run: why -->` above one excuses it. */
const snippets = suite("snippets");
const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

interface Snippet {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

async function read(page: string): Promise<Snippet[]> {
  const lines = (await readFile(join(root, page), "utf8")).split("\n");
  const found: Snippet[] = [];
  for (let at = 0; at < lines.length; at++) {
    const language = /^```(\w+)$/.exec(lines[at]!)?.[1];
    if (!language) continue;
    const end = lines.indexOf("```", at + 1);
    const excused = lines.slice(Math.max(0, at - 2), at).some((line) => line.startsWith("<!-- not run:"));
    if (!excused) found.push({ page, line: at + 1, language, text: lines.slice(at + 1, end).join("\n") });
    at = end;
  }
  return found;
}

const docs = (await readdir(join(root, "docs"), { recursive: true }))
  .filter((name) => name.endsWith(".md"))
  .sort();
/** Generated from the catalogue, and checked against it by a test of its own: signatures, nothing to run. */
const pages = [
  "README.md",
  ...docs.map((name) => join("docs", name)).filter((page) => !page.endsWith("sql-api.md")),
];
const all = (await Promise.all(pages.map(read))).flat();

async function psqlIsThere(): Promise<boolean> {
  return run("psql", ["--version"]).then(
    () => true,
    () => false,
  );
}

for (const page of pages) {
  const sql = all.filter((snippet) => snippet.page === page && snippet.language === "sql");
  if (sql.length === 0) continue;
  snippets(`SQL of ${page}`, async () => {
    const database = await testDatabase({ installed: false });
    await migrate({ pool: database.pool, schema: "headrace" });
    try {
      const text = sql.map((snippet) => `-- ${page}:${snippet.line}\n${snippet.text}\n`).join("\n");
      if (await psqlIsThere()) {
        const folder = await mkdtemp(join(root, "test", ".snippets-"));
        try {
          const file = join(folder, "snippets.sql");
          await writeFile(file, `\\set ON_ERROR_STOP 1\n${text}`);
          await run("psql", ["--no-psqlrc", "-d", database.url, "-f", file]);
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      } else {
        const client = new pg.Client({ connectionString: database.url });
        await client.connect();
        try {
          await client.query(text);
        } finally {
          await client.end();
        }
      }
      if (page === "README.md") {
        const { rows } = await database.pool.query(
          "select state::text, attempt from headrace.jobs where id = 'welcome-ada'",
        );
        assert.equal(rows, [{ state: "completed", attempt: 0 }]);
      }
    } finally {
      await database.close();
    }
  });
}

for (const snippet of all.filter(({ language }) => language === "ts")) {
  snippets(`TypeScript of ${snippet.page}:${snippet.line}`, async () => {
    const database = await testDatabase({ installed: false });
    await migrate({ pool: database.pool, schema: "headrace" });
    const folder = await mkdtemp(join(root, "test", "ts", ".snippets-"));
    try {
      const file = join(folder, "snippet.ts");
      const source = snippet.text.replaceAll(/from "headrace(\/\w+)?"/g, (_, sub: string | undefined) =>
        JSON.stringify(`../../../src${sub ?? ""}/index.js`).replace(/^/, "from "),
      );
      // A program that runs until it is told to stop is told so.
      await writeFile(
        file,
        `${source}\nsetTimeout(() => process.kill(process.pid, "SIGTERM"), 2000).unref();\n`,
      );
      const { stdout } = await run(process.execPath, ["--import", "tsx", file], {
        env: { ...process.env, DATABASE_URL: database.url },
        timeout: 30_000,
        killSignal: "SIGKILL",
      }).catch((error: unknown) => {
        const ended = error as { signal?: string; stdout?: string };
        if (ended.signal === "SIGTERM") return { stdout: ended.stdout ?? "" };
        throw error;
      });
      if (snippet.page === "README.md") assert.match(stdout, /sending to ada@example.org/);
    } finally {
      await rm(folder, { recursive: true, force: true });
      await database.close();
    }
  });
}

snippets("the two commands are what package.json has", async () => {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const commands = all.filter(({ page, language }) => page === "README.md" && language === "sh");
  assert.is(commands[0]?.text, "npm ci && npm run demo\nnpm ci && npm test");
  assert.ok(scripts["demo"] && scripts["test"]);
});

snippets("every link of the README leads somewhere", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target]) => target!);
  assert.ok(links.length > 5);
  for (const target of links) assert.ok(existsSync(join(root, target)), target);
});

snippets.run();
