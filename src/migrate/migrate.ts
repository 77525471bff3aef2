import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { ClientBase } from "pg";
import { committedFolder, readCommitted, type Migration } from "./committed.js";
import { MigrationError } from "./errors.js";
import { readInvalidIndexes, type InvalidIndex } from "./indexes.js";
import { ledgerDifferences, readLedger, recordHash } from "./ledger.js";
import { locate } from "./locate.js";
import { fillPlaceholders } from "./placeholders.js";
import { schemaName, type SchemaName } from "./schema-name.js";
import { inTransaction, withClient, type Connection } from "./session.js";
import { transactionSettings } from "./settings.js";

export interface MigrateOptions extends Connection {
  /** @defaultValue "headrace" */
  readonly schema?: string;
  /** Say what would be done and do nothing. */
  readonly dryRun?: boolean;
  /**
   * How long a statement of a migration may wait for a lock that running workers hold, before the migration steps
   * back and tries again. @defaultValue 5000
   */
  readonly lockTimeoutMs?: number;
  /** How often a migration that met a lock is tried. @defaultValue 10 */
  readonly lockAttempts?: number;
  /** Another folder of committed migrations; for tests. */
  readonly folder?: string;
}

export interface MigrateResult {
  readonly schema: string;
  /** The version that is installed now; 0 means none. */
  readonly version: number;
  /** What this call installed, or would install with `dryRun`. */
  readonly applied: readonly { version: number; filename: string }[];
  /** The schema is newer than this package. Nothing is done about it. */
  readonly ahead: boolean;
  /** Indexes of the schema that are not valid as it is now: rebuild those that are no leftovers. */
  readonly invalidIndexes: readonly InvalidIndex[];
}

/**
 * Brings a schema up to the migrations of this package.
 *
 * Any number of processes may call it at the same time: one works, the others wait. Each migration is one transaction,
 * so a process that dies in the middle leaves whole migrations behind. Nothing depends on the session, so a pooler in
 * transaction mode is fine.
 *
 * @throws MigrationError when files and schema disagree; nothing is changed then.
 */
export async function migrate(options: MigrateOptions = {}): Promise<MigrateResult> {
  const migrations = await readCommitted(options.folder ?? committedFolder);
  if (migrations.length === 0) throw new MigrationError("this package holds no committed migration");
  return applyMigrations(migrations, options);
}

/** `migrate` for migrations that are already in memory. */
export async function applyMigrations(
  migrations: readonly Migration[],
  options: Omit<MigrateOptions, "folder"> = {},
): Promise<MigrateResult> {
  const schema = schemaName(options.schema ?? "headrace");
  const shipped = migrations.at(-1)?.version ?? 0;

  return withClient(options, async (client) => {
    if (options.dryRun) {
      const version = await installedVersion(client, schema, migrations);
      return {
        schema: schema.name,
        version,
        applied: migrations.filter((migration) => migration.version > version).map(summary),
        ahead: version > shipped,
        invalidIndexes: await readInvalidIndexes(client, schema),
      };
    }
    const applied: Migration[] = [];
    for (;;) {
      const step = await retryOnLock(options, () => applyNext(client, schema, migrations, options));
      if (step.migration) applied.push(step.migration);
      if (step.version >= shipped) {
        return {
          schema: schema.name,
          version: step.version,
          applied: applied.map(summary),
          ahead: step.version > shipped,
          invalidIndexes: await inTransaction(client, async () => {
            await client.query("set local statement_timeout = 0");
            return readInvalidIndexes(client, schema);
          }),
        };
      }
    }
  });
}

function summary({ version, filename }: Migration): { version: number; filename: string } {
  return { version, filename };
}

async function installedVersion(
  client: ClientBase,
  schema: SchemaName,
  migrations: readonly Migration[],
): Promise<number> {
  const ledger = await readLedger(client, schema);
  const differences = ledgerDifferences(ledger, migrations);
  if (differences.length > 0) {
    throw new MigrationError(`schema ${schema.identifier} does not agree with the migrations`, {
      differences,
    });
  }
  return ledger.at(-1)?.version ?? 0;
}

/** Applies the first pending migration, if there is one, in a transaction of its own. */
async function applyNext(
  client: ClientBase,
  schema: SchemaName,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<{ version: number; migration?: Migration }> {
  return inTransaction(client, async () => {
    await lockSchema(client, schema);
    const version = await installedVersion(client, schema, migrations);
    const migration = migrations.find((candidate) => candidate.version > version);
    if (!migration) return { version };

    await refuseOldServer(client);
    await client.query(transactionSettings(options.lockTimeoutMs ?? 5000));
    await createSchema(client, schema);
    const text = fillPlaceholders(migration.body, schema);
    await client.query(text).catch((error: unknown) => {
      throw explain(error, migration, text);
    });
    await recordHash(client, schema, migration);
    return { version: migration.version, migration };
  });
}

/** Waits its turn, however long that takes; the lock ends with the transaction. */
async function lockSchema(client: ClientBase, schema: SchemaName): Promise<void> {
  await client.query("set local lock_timeout = 0; set local statement_timeout = 0");
  await client.query("select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))", [
    `headrace migrate ${schema.name}`,
  ]);
}

/** Says so, instead of failing at the first word that an older version does not know. */
async function refuseOldServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number }>(
    "select current_setting('server_version') as version, current_setting('server_version_num')::integer as number",
  );
  if ((rows[0]?.number ?? 0) < 150_000) {
    throw new MigrationError(`PostgreSQL 15 or newer is needed, this is ${rows[0]?.version ?? "unknown"}`);
  }
}

/** `create schema if not exists` asks for a right on the database even where the schema is there already. */
async function createSchema(client: ClientBase, schema: SchemaName): Promise<void> {
  const { rows } = await client.query("select from pg_catalog.pg_namespace where nspname = $1", [
    schema.name,
  ]);
  if (rows.length === 0) await client.query(`create schema ${schema.identifier}`);
}

function explain(error: unknown, migration: Migration, text: string): unknown {
  if (!(error instanceof pg.DatabaseError) || isLockFailure(error)) return error;
  const place = error.position === undefined ? "" : `, ${locate(text, Number(error.position) - 1)}`;
  const hint = error.hint === undefined ? "" : ` (${error.hint})`;
  return new MigrationError(`${migration.filename}${place}: ${error.message}${hint}`, { cause: error });
}

const isLockFailure = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === "55P03" || error.code === "40P01");

async function retryOnLock<T>(options: MigrateOptions, work: () => Promise<T>): Promise<T> {
  const attempts = options.lockAttempts ?? 10;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isLockFailure(error) || attempt >= attempts) throw error;
      await sleep(Math.min(5000, 100 * 2 ** attempt) * (0.5 + Math.random()));
    }
  }
}
