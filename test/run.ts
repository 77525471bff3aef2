/**
 * Runs the tests: one server and one template for all of them, each file on databases of its own, some at a time.
 *
 *   node --import tsx test/run.ts [--jobs <n>] [part of a path ...]
 *
 * The last line is "N passed, N failed".
 */
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { prepare, toEnvironment } from "./ts/support/run-context.js";
import { startServer } from "./ts/support/server.js";
import { settleDatabases } from "./runner/databases.js";
import type { FileResult } from "./runner/result.js";
import { runSqlFile } from "./runner/sql-file.js";
import { killRunning, runTsFile } from "./runner/ts-file.js";

const root = fileURLToPath(new URL("../", import.meta.url));
process.chdir(root);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: "string", default: String(Math.max(2, Math.min(8, availableParallelism()))) } },
});

async function testFiles(): Promise<string[]> {
  const found: string[] = [];
  for (const [folder, ending] of [
    ["test/sql", ".sql"],
    ["test/ts", ".test.ts"],
  ] as const) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.isFile() && entry.name.endsWith(ending))
        found.push(relative(root, join(entry.parentPath, entry.name)));
    }
  }
  return found
    .sort()
    .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)));
}

const files = await testFiles();
const server = await startServer();
console.log(`${server.description}, ${files.length} files`);
const failedFiles: FileResult[] = [];
let passed = 0;
let failed = 0;

async function runOne(file: string, index: number, context: Context): Promise<FileResult> {
  // Each file has its own prefix, so what it left behind is known to be its own.
  const own = { ...context, prefix: `${context.prefix}_${index}x` };
  const begun = Date.now();
  let result: FileResult;
  try {
    result = file.endsWith(".sql")
      ? await runSqlFile(file, { ...own, managed: true })
      : await runTsFile(file, toEnvironment(own));
  } catch (error) {
    const output = error instanceof Error ? (error.stack ?? error.message) : String(error);
    result = { file, passed: 0, failed: 1, milliseconds: Date.now() - begun, output };
  }
  const broken = await settleDatabases(server.adminUrl, `${own.prefix}_`);
  if (broken.length === 0) return result;
  const output = `${result.output}\nbroken invariants:\n${broken.join("\n")}\n`;
  return { ...result, failed: result.failed + 1, output };
}

type Context = Awaited<ReturnType<typeof prepare>>;

function report(result: FileResult): void {
  passed += result.passed;
  failed += result.failed;
  const mark = result.failed > 0 ? "FAIL" : "ok  ";
  const seconds = (result.milliseconds / 1000).toFixed(1).padStart(6);
  const counts = `${result.passed} passed${result.failed > 0 ? `, ${result.failed} failed` : ""}`;
  console.log(`${mark} ${seconds} s  ${result.file}  ${counts}`);
  if (result.failed > 0) {
    failedFiles.push(result);
    console.log(indent(result.output));
  }
}

const indent = (text: string): string => text.trimEnd().replace(/^/gm, "       ");

type Job = [file: string, index: number];

/**
 * Transaction numbers belong to the whole server: what waits for older transactions to end also waits for those of
 * other tests. A file that depends on when that is says `alone` in a comment of its own line, and runs after the others.
 */
async function wantsQuiet(file: string): Promise<boolean> {
  return /^(\/\/|--) alone$/m.test(await readFile(file, "utf8"));
}

async function runAll(): Promise<void> {
  const context = await prepare(server, (text) => console.log(`note: ${text}`));
  const together: Job[] = [];
  const alone: Job[] = [];
  for (const [index, file] of files.entries()) {
    ((await wantsQuiet(file)) ? alone : together).push([file, index]);
  }
  const work = async (jobs: Job[]): Promise<void> => {
    for (let next = jobs.shift(); next; next = jobs.shift()) report(await runOne(...next, context));
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, () => work(together)));
  await work(alone);
  await settleDatabases(server.adminUrl, `${context.prefix}_template`);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    killRunning();
    void server.close().finally(() => process.exit(130));
  });
}

try {
  if (files.length === 0) throw new Error(`no test file matches ${positionals.join(", ")}`);
  await runAll();
} catch (error) {
  failed++;
  console.log(error instanceof Error ? error.message : error);
} finally {
  await server.close();
}
if (failedFiles.length > 0 && files.length > 1) {
  console.log(`\nfailed: ${failedFiles.map(({ file }) => file).join(", ")}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
