import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrationHash } from "../../../src/migrate/committed.js";

/** A body that does what each migration must: the first makes the ledger, and each records itself. */
export function migrationBody(version: number, text = ""): string {
  const ledger =
    version === 1
      ? `create table :SCHEMA.schema_migration (
           version integer primary key, name text not null, hash text,
           applied_at timestamptz not null default clock_timestamp());`
      : "";
  return `${ledger}\n${text}\ninsert into :SCHEMA.schema_migration (version, name) values (${version}, 'by-hand');`;
}

/** A folder of committed migrations with sound hashes: file names without their number, and bodies. */
export async function migrationFolder(
  files: readonly (readonly [name: string, body: string])[],
): Promise<{ folder: string; files: string[]; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "headrace-migrations-"));
  let previous: string | null = null;
  const paths: string[] = [];
  for (const [index, [name, body]] of files.entries()) {
    const hash = migrationHash(body, previous);
    const path = join(folder, `${String(index + 1).padStart(6, "0")}-${name}.sql`);
    await writeFile(path, `--! Previous: ${previous ?? "-"}\n--! Hash: ${hash}\n\n${body.trim()}\n`);
    paths.push(path);
    previous = hash;
  }
  return { folder, files: paths, remove: () => rm(folder, { recursive: true, force: true }) };
}
