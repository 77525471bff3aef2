import type { ClientBase } from "pg";
import type { Migration } from "./committed.js";
import { MigrationError } from "./errors.js";
import type { SchemaName } from "./schema-name.js";

/**
 * One migration as the schema remembers it. Each migration writes its own row, so that every way of running it
 * (ours, graphile-migrate, psql) leaves the same trace; a way that knows the hash adds it.
 */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly hash: string | null;
  readonly appliedAt: Date;
}

export async function readLedger(client: ClientBase, schema: SchemaName): Promise<AppliedMigration[]> {
  const { rows: tables } = await client.query(
    `select from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'schema_migration'`,
    [schema.name],
  );
  if (tables.length === 0) return [];
  const { rows } = await client.query<{
    version: number;
    name: string;
    hash: string | null;
    applied_at: Date;
  }>(`select version, name, hash, applied_at from ${schema.identifier}.schema_migration order by version`);
  return rows.map((row) => ({
    version: row.version,
    name: row.name,
    hash: row.hash,
    appliedAt: row.applied_at,
  }));
}

/** Adds what the migration could not know about itself. */
export async function recordHash(
  client: ClientBase,
  schema: SchemaName,
  { version, name, hash, filename }: Migration,
): Promise<void> {
  const { rowCount } = await client.query(
    `update ${schema.identifier}.schema_migration set name = $2, hash = $3 where version = $1`,
    [version, name, hash],
  );
  if (rowCount !== 1) {
    throw new MigrationError(`${filename} does not record version ${version} in schema_migration`);
  }
}

/**
 * Says how what is installed differs from the files. More in the schema than in the files is no difference: that is
 * an older package on a newer schema, in the middle of a rollout.
 */
export function ledgerDifferences(
  applied: readonly AppliedMigration[],
  files: readonly Migration[],
): string[] {
  const differences: string[] = [];
  const byVersion = new Map(applied.map((row) => [row.version, row]));
  const last = applied.at(-1)?.version ?? 0;
  for (const file of files) {
    if (file.version > last) break;
    const row = byVersion.get(file.version);
    if (!row) {
      differences.push(`${file.filename} is not installed, though a later migration is: it was inserted`);
      continue;
    }
    // Run by hand or by graphile-migrate: the version is all that is known.
    if (row.hash === null) continue;
    if (row.hash !== file.hash) {
      const elsewhere = files.find((other) => other.hash === row.hash);
      differences.push(
        elsewhere
          ? `${elsewhere.filename} is installed as version ${row.version}: it was renumbered`
          : `${file.filename} has other contents than version ${row.version} had when it was installed`,
      );
    } else if (row.name !== file.name) {
      differences.push(`${file.filename} was renamed; it was installed as "${row.name}"`);
    }
  }
  const shipped = files.at(-1)?.version ?? 0;
  for (const row of applied) {
    if (row.version <= shipped && !files.some((file) => file.version === row.version)) {
      differences.push(`version ${row.version} ("${row.name}") is installed, but its file is missing`);
    }
  }
  return differences;
}
