import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { MigrationError } from "./errors.js";

/** One migration, placeholders unfilled. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly filename: string;
  readonly hash: string;
  readonly previousHash: string | null;
  readonly body: string;
}

/** Where the committed migrations of this package are. The path is the same from src/ and from dist/. */
export const committedFolder = fileURLToPath(new URL("../../sql/migrations/committed", import.meta.url));

/** graphile-migrate's rule: the hash covers the hash before it and the text below the header. */
export function migrationHash(body: string, previousHash: string | null): string {
  const hashed = `${(previousHash ?? "") + "\n" + body.trim()}`.trim() + "\n";
  return "sha1:" + createHash("sha1").update(hashed).digest("hex");
}

/** Splits a committed file into its `--! Key: value` header and its body. */
export function parseMigrationText(text: string): { headers: Map<string, string>; body: string } {
  const lines = text.split("\n");
  const headers = new Map<string, string>();
  let first = 0;
  for (; first < lines.length; first++) {
    const match = /^--! ([A-Z][a-zA-Z0-9_]*)(?::(.*))?$/.exec(lines[first] ?? "");
    if (!match?.[1]) break;
    headers.set(match[1], match[2]?.trim() ?? "");
  }
  return { headers, body: lines.slice(first).join("\n").trim() + "\n" };
}

/** Reads the committed migrations in order and checks the chain: numbers without a gap, and every hash. */
export async function readCommitted(folder: string = committedFolder): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d+(-.*)?\.sql$/.test(name)).sort();
  const migrations: Migration[] = [];
  const differences: string[] = [];
  for (const filename of names) {
    const [, digits = "", name = ""] = /^(\d+)(?:-(.*))?\.sql$/.exec(filename) ?? [];
    const version = Number(digits);
    const expected = (migrations.at(-1)?.version ?? 0) + 1;
    if (version > expected) differences.push(`migration ${expected} is missing before ${filename}`);
    if (version < expected) differences.push(`${filename} has the number of another file`);

    const { headers, body } = parseMigrationText(await readFile(join(folder, filename), "utf8"));
    const hash = headers.get("Hash") ?? "";
    const previousHash = headers.get("Previous") === "-" ? null : (headers.get("Previous") ?? "");
    const before = migrations.at(-1)?.hash ?? null;
    if (previousHash !== before) {
      differences.push(`${filename} was committed after another migration than the one before it`);
    }
    if (migrationHash(body, previousHash) !== hash) {
      differences.push(`${filename} was edited after it was committed`);
    }
    if (/^--!\s*no-transaction\b/.test(body)) {
      differences.push(`${filename} wants no transaction; each migration runs in one`);
    }
    migrations.push({ version, name, filename, hash, previousHash, body });
  }
  if (differences.length > 0) {
    throw new MigrationError(`the migrations in ${folder} are not sound`, { differences });
  }
  return migrations;
}
