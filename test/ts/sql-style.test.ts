import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadModule, parseSync } from "libpg-query";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { parseable } from "../../scripts/lib/sql-ast.js";
import { checkFile, type Names } from "../../scripts/lib/sql-rules.js";
import { flatTokens, formatSql, longLines } from "../../scripts/lib/sql-style.js";
import { functionFiles, functionsFolder } from "../../scripts/lib/source.js";
import { statements } from "../../scripts/lib/sql-text.js";

await loadModule();
const style = suite("SQL formatter");

style("cuts a script into statements as PostgreSQL does", () => {
  const script = "select ';'; -- ;\ndo $a$ begin; $b$;$b$ $a$; /* ; /* ; */ ; */ select \"a;b\", e'\\';'";
  assert.equal(
    statements(script).map(({ text }) => text),
    ["select ';'", "do $a$ begin; $b$;$b$ $a$", "select \"a;b\", e'\\';'"],
  );
});

style("lowers words, not strings, names in quotes or comments", () => {
  const text = "SELECT 'A', \"B\", $$BEGIN 'C'; END$$ -- D\n";
  assert.is(formatSql(text), "select 'A', \"B\", $$begin 'C'; end$$ -- D\n");
});

style("keeps blanks in strings", () => {
  assert.is(formatSql("select 'a \t\n\n\n b';\t\n\n\n\nselect 1"), "select 'a \t\n\n\n b';\n\nselect 1\n");
});

style("breaks long lines at blanks", () => {
  const formatted = formatSql(
    `select ${Array.from({ length: 60 }, (_, at) => `column_${at}`).join(", ")} from t`,
  );
  assert.equal(longLines(formatted), []);
  assert.is(formatted.replace(/\s+/g, " ").trim(), formatted.split(/\s+/).join(" ").trim());
});

style("fills descriptions and keeps their text", () => {
  const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
  const formatted = formatSql(`comment on table t is 'it''s ${words}';`);
  assert.equal(longLines(formatted), []);
  const literals = [...formatted.matchAll(/'((?:[^'\n]|'')*)'/g)].map((part) => part[1]).join("");
  assert.is(literals, `it''s ${words}`);
  assert.is(formatSql(formatted), formatted);
});

style("changes no function's meaning, and is content with its own work", async () => {
  for (const file of await functionFiles()) {
    // Wide lines give it the most to do.
    const text = (await readFile(join(functionsFolder, file), "utf8")).replace(/,\n\s*/g, ", ");
    const formatted = formatSql(text);
    assert.is(formatSql(formatted), formatted, file);
    assert.equal(meaning(formatted), meaning(text), file);
  }
});

/** The tokens that count, bodies included; a string that is continued on the next line is one string. */
function meaning(text: string): string {
  const tokens = flatTokens(text).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  return tokens
    .map((token) => (token.kind === "word" ? token.text.toLowerCase() : token.text))
    .join(" ")
    .replaceAll("' '", "");
}

style.run();

const rules = suite("SQL rules");
const names: Names = { functions: new Set(["now_ms", "sound"]), types: new Set(["job"]) };
const sound = `create or replace function :SCHEMA.sound(a text)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job :SCHEMA.job;
begin
  with moved as (select 1) select j.* into v_job from :SCHEMA.job j, moved for update of j;
  a := (select count(*) from pg_class);
  return :SCHEMA.now_ms();
end;
$$;
comment on function :SCHEMA.sound is 'Sound.';
revoke all on function :SCHEMA.sound from public;
`;
const complaints = (text: string, file = "internal/sound.sql"): string[] =>
  checkFile(file, text, names).map(({ line, text: message }) => `${line}: ${message}`);

rules("a sound file parses and passes", () => {
  parseSync(parseable(sound));
  assert.equal(complaints(sound), []);
});

const breakages: readonly (readonly [string, string | RegExp, string, string])[] = [
  ["another name", ":SCHEMA.sound(a", ":SCHEMA.other(a", "1: must create :SCHEMA.sound"],
  ["no replace", "create or replace", "create", "1: create or replace"],
  ["no volatility", "volatile\n", "", "1: say volatile, stable or immutable"],
  ["invoker", "security definer\n", "", "1: security definer is missing"],
  ["an open path", "pg_catalog, pg_temp", "''", "1: set search_path = pg_catalog, pg_temp is missing"],
  ["no comment", /^comment.*\n/m, "", "1: comment on function is missing"],
  ["no revoke", /^revoke.*\n/m, "", "1: revoke all on function … from public is missing"],
  [
    "a revoke from somebody else",
    "from public",
    "from somebody",
    "1: revoke all on function … from public is missing",
  ],
  ["an unqualified table", "from :SCHEMA.job j", "from job j", "11: job without :SCHEMA"],
  ["an unqualified function", "return :SCHEMA.now_ms", "return now_ms", "13: now_ms() without :SCHEMA"],
  ["now()", "return :SCHEMA.now_ms()", "return now()", "13: now(): the clock is :SCHEMA.now_ms()"],
  [
    "current_timestamp",
    "return :SCHEMA.now_ms()",
    "return current_timestamp",
    "13: the clock is :SCHEMA.now_ms()",
  ],
  [
    "raise",
    "return :SCHEMA",
    "raise exception 'x'; return :SCHEMA",
    "13: raise only in internal/raise_error.sql",
  ],
  ["execute", "return :SCHEMA", "execute 'select 1'; return :SCHEMA", "13: dynamic SQL (execute)"],
  ["format", "return :SCHEMA", "a := format('%s', 1); return :SCHEMA", "13: format() is for dynamic SQL"],
  [
    "a name in a string",
    "'Sound.'",
    "'See :SCHEMA.job.'",
    "16: a placeholder inside a string; use :SCHEMA_LITERAL as the string",
  ],
  ["a syntax error", "return :SCHEMA", "retrun :SCHEMA", '1: syntax error at or near "retrun"'],
];
for (const [name, from, to, complaint] of breakages) {
  rules(`complains of ${name}`, () => {
    const broken = sound.replace(from, to);
    assert.is.not(broken, sound);
    assert.ok(complaints(broken).includes(complaint), complaints(broken).join("\n"));
  });
}

rules("one function a file, in a known folder", () => {
  assert.ok(complaints(sound + sound).includes("1: one function or view a file, not 2"));
  assert.ok(complaints(sound, "other/sound.sql").includes("1: unknown folder other"));
});

rules.run();
