import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { migrationHash, parseMigrationText, type Migration } from "../../src/migrate/committed.js";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const functionsFolder = join(root, "sql", "functions");
export const migrationsFolder = join(root, "sql", "migrations");

/** The migrations as the files under sql/ say now, whether or not they were committed since. */
export interface Source {
  readonly migrations: readonly Migration[];
  /** Included files whose committed text is not their present text. */
  readonly stale: readonly string[];
  /** A committed file was edited by hand: its hash is not the hash of its text. */
  readonly edited: boolean;
  /** Function files that no migration takes in. */
  readonly unused: readonly string[];
  /** current.sql holds a migration that is not committed. */
  readonly uncommitted: boolean;
}

const includeLine = /^--![ \t]*include[ \t]+(.*\.sql)[ \t]*$/gm;
const includedBlock = /^--! Included (\S+)\n([\s\S]*?)\n--! EndIncluded \1$/gm;

/** Every function file, relative to sql/functions, sorted. */
export async function functionFiles(): Promise<string[]> {
  const entries = await readdir(functionsFolder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".sql"))
    .map((entry) => relative(functionsFolder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Nothing but blanks and line comments, which is what graphile-migrate leaves behind. */
export const isBlank = (text: string): boolean => text.replace(/--(?!!).*$/gm, "").trim() === "";

export async function readSource(): Promise<Source> {
  const files = await functionFiles();
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, (await readFile(join(functionsFolder, file), "utf8")).trim());

  const folder = join(migrationsFolder, "committed");
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d+.*\.sql$/.test(name)).sort();
  const bodies: { filename: string; body: string }[] = [];
  let edited = false;
  for (const filename of names) {
    const { headers, body } = parseMigrationText(await readFile(join(folder, filename), "utf8"));
    const previous = headers.get("Previous") ?? "-";
    edited ||= migrationHash(body, previous === "-" ? null : previous) !== headers.get("Hash");
    // Before it is released, a committed file may be edited too: recommit takes the line in.
    bodies.push({ filename, body: include(filename, body, texts) });
  }
  const current = await readFile(join(migrationsFolder, "current.sql"), "utf8").catch(() => "");
  const uncommitted = !isBlank(current);
  if (uncommitted) {
    const filename = `${String(names.length + 1).padStart(6, "0")}-current.sql`;
    bodies.push({ filename, body: include("current.sql", parseMigrationText(current).body, texts) });
  }

  // A released migration keeps the text it was released with; only the last inclusion of a file can be out of date.
  const last = new Map<string, number>();
  bodies.forEach(({ body }, at) => {
    for (const [, file = ""] of body.matchAll(includedBlock)) last.set(file, at);
  });
  const stale = new Set<string>();
  const migrations: Migration[] = [];
  bodies.forEach(({ filename, body }, at) => {
    const present = body.replace(includedBlock, (block, file: string, committed: string) => {
      if (last.get(file) !== at) return block;
      const text = texts.get(file);
      if (text === committed) return block;
      stale.add(file);
      return text === undefined ? "" : wrap(file, text);
    });
    const previousHash = migrations.at(-1)?.hash ?? null;
    const [, digits = "", name = ""] = /^(\d+)-?(.*)\.sql$/.exec(filename) ?? [];
    const hash = migrationHash(present, previousHash);
    migrations.push({ version: Number(digits), name, filename, hash, previousHash, body: present });
  });
  const unused = files.filter((file) => !last.has(file));
  return { migrations, stale: [...stale], edited, unused, uncommitted };
}

/** The text of functions as the lines that took it in. */
export const foldIncludes = (body: string): string => body.replace(includedBlock, "--!include $1");

/** The text of all migrations, for whoever looks for definitions. */
export async function sourceText(): Promise<string> {
  return (await readSource()).migrations.map(({ body }) => body).join("\n");
}

function include(filename: string, body: string, texts: ReadonlyMap<string, string>): string {
  return body.replace(includeLine, (_, file: string) => {
    const text = texts.get(file);
    if (text === undefined) throw new Error(`${filename} includes ${file}, which is not in sql/functions`);
    return wrap(file, text);
  });
}

const wrap = (file: string, text: string): string => `--! Included ${file}\n${text}\n--! EndIncluded ${file}`;
