import { committedFolder, readCommitted } from "./committed.js";
import { readInvalidIndexes, type InvalidIndex } from "./indexes.js";
import { ledgerDifferences, readLedger, type AppliedMigration } from "./ledger.js";
import { schemaName } from "./schema-name.js";
import { withClient, type Connection } from "./session.js";

export interface StatusOptions extends Connection {
  /** @defaultValue "headrace" */
  readonly schema?: string;
  /** Another folder of committed migrations; for tests. */
  readonly folder?: string;
}

export interface MigrationStatus {
  readonly schema: string;
  /** The version that is installed; 0 means none. */
  readonly version: number;
  /** The version that this package brings. */
  readonly shipped: number;
  readonly applied: readonly AppliedMigration[];
  readonly pending: readonly string[];
  /** How the installed schema and the files disagree; empty when all is well. */
  readonly differences: readonly string[];
  /** Indexes of the schema that are not valid: rebuild those that are no leftovers. */
  readonly invalidIndexes: readonly InvalidIndex[];
}

/** Reads what is installed and compares it with the migrations of this package. Writes nothing. */
export async function status(options: StatusOptions = {}): Promise<MigrationStatus> {
  const schema = schemaName(options.schema ?? "headrace");
  const files = await readCommitted(options.folder ?? committedFolder);
  const [applied, invalidIndexes] = await withClient(options, async (client) => [
    await readLedger(client, schema),
    await readInvalidIndexes(client, schema),
  ]);
  const version = applied.at(-1)?.version ?? 0;
  return {
    schema: schema.name,
    version,
    shipped: files.at(-1)?.version ?? 0,
    applied,
    pending: files.filter((file) => file.version > version).map((file) => file.filename),
    differences: ledgerDifferences(applied, files),
    invalidIndexes,
  };
}
