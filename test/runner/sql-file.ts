import { readFile } from "node:fs/promises";
import pg from "pg";
import { place, statements } from "../../scripts/lib/sql-text.js";
import { testDatabase, type TestDatabase } from "../ts/support/database.js";
import { brokenInvariants } from "../ts/support/invariants.js";
import type { RunContext } from "../ts/support/run-context.js";
import type { FileResult } from "./result.js";

interface Section {
  readonly name: string;
  readonly text: string;
  /** The line of the file on which the text begins, from 0. */
  readonly line: number;
}

/**
 * Runs an SQL test: each `-- test: name` begins a test, which has a transaction of its own that is rolled back. What
 * stands before the first is run at the beginning of each. A test passes when nothing fails and the invariants hold at
 * its end; `-- invariants: off` anywhere in the file leaves those out.
 */
export async function runSqlFile(file: string, context: RunContext): Promise<FileResult> {
  const begun = Date.now();
  const text = await readFile(file, "utf8");
  const { preamble, tests } = sections(text);
  const withInvariants = !/^-- invariants: off$/m.test(text);
  const database = await testDatabase({ invariants: false, poolSize: 1, context });
  let passed = 0;
  let output = "";
  try {
    for (const test of tests) {
      const failure = await runTest(database, [preamble, test], withInvariants, file);
      if (failure === undefined) passed++;
      else output += `   FAIL  "${test.name}"\n    ${failure.replaceAll("\n", "\n    ")}\n`;
    }
  } finally {
    await database.close();
  }
  const failed = tests.length === 0 ? 1 : tests.length - passed;
  if (tests.length === 0) output += "holds no `-- test: name`\n";
  return { file, passed, failed, milliseconds: Date.now() - begun, output };
}

function sections(text: string): { preamble: Section; tests: Section[] } {
  const all: { name: string; lines: string[]; line: number }[] = [{ name: "", lines: [], line: 0 }];
  text.split("\n").forEach((content, line) => {
    const name = /^-- test: (.+)$/.exec(content)?.[1];
    if (name !== undefined) all.push({ name, lines: [], line: line + 1 });
    else all.at(-1)?.lines.push(content);
  });
  const [preamble, ...tests] = all.map(({ name, lines, line }) => ({ name, line, text: lines.join("\n") }));
  return { preamble: preamble ?? { name: "", line: 0, text: "" }, tests };
}

async function runTest(
  database: TestDatabase,
  parts: readonly Section[],
  withInvariants: boolean,
  file: string,
): Promise<string | undefined> {
  const client = await database.connect();
  try {
    await client.query("begin; set local plpgsql.check_asserts = on; set local statement_timeout = '60s'");
    for (const part of parts) {
      for (const statement of statements(part.text)) {
        // One at a time, and replaced one at a time: so the place of a failure is known.
        const failure = await client.query(database.sql(statement.text)).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined) {
          const line =
            part.line + place(part.text, statement.at).line + lineInside(failure, statement.text) - 1;
          return `${file}:${line}: ${describe(failure)}`;
        }
      }
    }
    await client.query("set constraints all immediate");
    const broken = withInvariants ? await brokenInvariants(client) : [];
    return broken.length > 0 ? `broken invariants:\n${broken.join("\n")}` : undefined;
  } catch (error) {
    return describe(error);
  } finally {
    await client.query("rollback").catch(() => undefined);
    await client.end();
  }
}

/** Lines from the beginning of the statement to where it failed, as far as the server says. */
function lineInside(error: unknown, statement: string): number {
  if (!(error instanceof pg.DatabaseError)) return 1;
  if (error.position !== undefined) return place(statement, Number(error.position) - 1).line;
  // The frames are listed from the inside out; the last DO block is the test's own.
  const inBlock = [...(error.where ?? "").matchAll(/inline_code_block line (\d+)/g)].at(-1)?.[1];
  if (inBlock === undefined) return 1;
  // Line 1 of a block is the one with its opening quote.
  return Number(inBlock) + place(statement, Math.max(0, statement.indexOf("$"))).line - 1;
}

function describe(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return error instanceof Error ? error.message : String(error);
  const parts = [`${error.message} (${error.code ?? "?"})`];
  if (error.detail) parts.push(`detail: ${error.detail}`);
  if (error.hint) parts.push(`hint: ${error.hint}`);
  if (error.where) parts.push(error.where);
  return parts.join("\n");
}
