import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root, sourceText } from "../../scripts/lib/source.js";
import { redraw, testName, transitionsIn } from "../../scripts/lib/transitions.js";
import { testDatabase } from "./support/database.js";

const machine = suite("state machine");
const transitions = transitionsIn(await sourceText());

/** The names of all tests, as they stand in the files. */
async function testNames(): Promise<string> {
  const names: string[] = [];
  for (const folder of ["test/sql", "test/ts"]) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile() && /\.(sql|test\.ts)$/.test(each.name))) {
      const text = await readFile(join(entry.parentPath, entry.name), "utf8");
      names.push(...text.split("\n").filter((line) => line.includes("transition ") && line.includes(" -> ")));
    }
  }
  return names.map((name) => `${name.replace(/["'`,(){}]/g, " ")} `).join("\n");
}

machine("every row of the table has a test that names it", async () => {
  const names = await testNames();
  const missing = transitions.map(testName).filter((name) => !names.includes(`${name} `));
  assert.equal(missing, [], "moves without a test");
});

machine("no test names a move that is not in the table", async () => {
  const known = new Set(transitions.map(testName));
  const named = [...(await testNames()).matchAll(/transition [a-z]+ -> [a-z]+ by [a-z_]+/g)];
  assert.ok(named.length >= transitions.length);
  assert.equal(
    named.map(([name]) => name).filter((name) => !known.has(name)),
    [],
  );
});

machine("the installed table is the one in the source", async () => {
  const database = await testDatabase();
  const installed = await database.query<{ from: string; event: string; to: string; guard: string }>(
    `select from_state as "from", event, to_state as "to", guard from :SCHEMA.transition`,
  );
  const sorted = <Row>(rows: readonly Row[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
  assert.ok(transitions.length >= 50);
  assert.equal(sorted(installed), sorted(transitions));
  await database.close();
});

machine("the page is drawn from the table", async () => {
  const page = await readFile(join(root, "docs", "state-machine.md"), "utf8");
  assert.is(page, redraw(page, transitions), "npm run docs draws it again");
  for (const { from, to } of transitions)
    assert.ok(page.includes(`${from} --> ${to === "deleted" ? "[*]" : to}`));
});

machine.run();
