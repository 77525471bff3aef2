/** Checks the style and the rules of our SQL; --fix does what can be done mechanically. Takes parts of paths. */
import { readFile, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { loadModule } from "libpg-query";
import { checkFile, checkText, definedTypes, type Complaint, type Names } from "./lib/sql-rules.js";
import { formatSql, longLines, maxColumns } from "./lib/sql-style.js";
import { functionFiles, functionsFolder, migrationsFolder, root, sourceText } from "./lib/source.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { fix: { type: "boolean", default: false } },
});
await loadModule();

const files = await functionFiles();
const tables = await sourceText();
const texts = new Map<string, string>();
for (const file of files) texts.set(file, await readFile(join(functionsFolder, file), "utf8"));

const names: Names = {
  functions: new Set(files.map((file) => basename(file, ".sql"))),
  types: new Set([tables, ...texts.values()].flatMap(definedTypes)),
};
let count = 0;

function report(path: string, complaints: readonly Complaint[]): void {
  for (const { line, text } of [...complaints].sort((a, b) => a.line - b.line)) {
    console.log(`${relative(root, path)}:${line}: ${text}`);
    count++;
  }
}

async function style(path: string, text: string): Promise<{ text: string; complaints: Complaint[] }> {
  const formatted = formatSql(text);
  if (values.fix && formatted !== text) await writeFile(path, formatted);
  const now = values.fix ? formatted : text;
  const complaints = longLines(now).map((line) => ({ line, text: `longer than ${maxColumns} columns` }));
  if (now !== formatted && complaints.length === 0) {
    const lines = formatted.split("\n");
    const line = now.split("\n").findIndex((content, at) => content !== lines[at]) + 1;
    complaints.push({ line, text: "not in our style; npm run format" });
  }
  return { text: now, complaints };
}

const wanted = (path: string): boolean =>
  positionals.length === 0 || positionals.some((part) => path.includes(part));

for (const [file, text] of texts) {
  const path = join(functionsFolder, file);
  if (!wanted(path)) continue;
  const styled = await style(path, text);
  report(path, [...styled.complaints, ...checkFile(file, styled.text, names)]);
}
const current = join(migrationsFolder, "current.sql");
if (wanted(current)) {
  const styled = await style(current, await readFile(current, "utf8"));
  report(current, [...styled.complaints, ...checkText(styled.text)]);
}
const doubles = files.filter(
  (file, at) => files.findIndex((other) => basename(other) === basename(file)) !== at,
);
for (const file of doubles)
  report(join(functionsFolder, file), [{ line: 1, text: "the name of another file" }]);

console.log(`${files.length} function files, ${count} complaints`);
process.exitCode = count > 0 ? 1 : 0;
