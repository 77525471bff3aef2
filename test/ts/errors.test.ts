import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root, sourceText } from "../../scripts/lib/source.js";
import { readApi, rewrite } from "../../scripts/lib/sql-api.js";
import { toStoreError } from "../../src/store/errors.js";
import { testDatabase } from "./support/database.js";

const errors = suite("errors and functions: code, docs and SQL agree");
const database = await testDatabase();

interface Documented {
  readonly state: string;
  readonly code: string;
  readonly fields: readonly string[];
}

const documented: Documented[] = [
  ...(await readFile(join(root, "docs", "errors.md"), "utf8")).matchAll(
    /^\| (HR\d{3}) \| (\w+) \| ([\w, ]+) \|/gm,
  ),
].map(([, state = "", code = "", fields = ""]) => ({ state, code, fields: fields.split(", ") }));

errors("each documented error is raised somewhere, and each that is raised is documented", async () => {
  const raised = new Set(
    [...(await sourceText()).matchAll(/raise_error\(\s*'(HR\d{3})'/g)].map(([, state]) => state),
  );
  // HR000 never leaves the function that raises it.
  raised.delete("HR000");
  assert.equal([...raised].sort(), documented.map(({ state }) => state).sort());
  assert.ok(documented.length >= 9);
});

errors("the driver knows each by the documented code, with its fields", async () => {
  const typed = await readFile(join(root, "src", "store", "errors.ts"), "utf8");
  for (const { state, code, fields } of documented) {
    const sent = Object.fromEntries(fields.map((field) => [field, `a ${field}`]));
    const thrown: unknown = await database
      .query("select :SCHEMA.raise_error($1, 'what', $2)", [state, JSON.stringify(sent)])
      .then(() => undefined)
      .catch((error: unknown) => error);
    const error = toStoreError(thrown);
    assert.is(error.code, code, state);
    assert.is(error.sqlstate, state);
    assert.equal({ ...error.fields }, sent);
    for (const field of fields) assert.ok(typed.includes(`readonly ${field}?:`), `${field} has a type`);
  }
});

errors("the comments of functions name errors by their documented code", async () => {
  const known = new Map(documented.map(({ state, code }) => [state, code]));
  const rows = await database.query<{ name: string; comment: string }>(
    `select p.proname as name, obj_description(p.oid, 'pg_proc') as comment from pg_proc p
    where p.pronamespace = $1::regnamespace`,
    [database.identifier],
  );
  const wrong: string[] = [];
  for (const { name, comment } of rows) {
    for (const [, state = "", code] of comment.matchAll(/(HR\d{3})(?: ((?!where)[a-z]+_?[a-z]*))?/g)) {
      if (!known.has(state)) wrong.push(`${name}: ${state}`);
      else if (code?.includes("_") && code !== known.get(state)) wrong.push(`${name}: ${state} ${code}`);
    }
  }
  assert.equal(wrong, []);
});

errors("the page of the functions says what the catalog says", async () => {
  const page = await readFile(join(root, "docs", "sql-api.md"), "utf8");
  const lines = page.split("\n");
  const written = rewrite(page, await readApi(database.pool, database.schema)).split("\n");
  const at = written.findIndex((line, n) => line !== lines[n]);
  assert.is(at, -1, `npm run docs writes it again; line ${at + 1} is to be: ${written[at] ?? ""}`);
  assert.is(lines.length, written.length);
});

errors("every door has a comment", async () => {
  const { functions, relations } = await readApi(database.pool, database.schema);
  assert.ok(functions.length > 50);
  assert.equal(
    [...functions, ...relations].filter(({ comment }) => comment === "").map(({ name }) => name),
    [],
  );
});

errors.after(() => database.close());
errors.run();
