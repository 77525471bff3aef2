import pg from "pg";
import { readSource } from "../../../scripts/lib/source.js";
import { applyMigrations } from "../../../src/migrate/migrate.js";
import { withDatabase } from "./url.js";

/** The schema that tests install into; another name on request, to see that nothing depends on it. */
export const testSchema = process.env["HEADRACE_TEST_SCHEMA"] ?? "headrace";

/** Tells the world what is tested when that is not what was committed. */
export type Notice = (text: string) => void;

/** Makes the database that test databases are copied from: migrated from the present files, guard on. */
export async function makeTemplate(adminUrl: string, name: string, notice: Notice): Promise<void> {
  const source = await readSource();
  if (source.stale.length > 0) {
    notice(`committed migrations are out of date (${source.stale.length} files); testing the present files`);
  }
  if (source.uncommitted) notice("current.sql is not committed; testing it as it stands");
  if (source.unused.length > 0) notice(`no migration includes ${source.unused.join(", ")}`);

  await admin(adminUrl, `create database ${pg.escapeIdentifier(name)}`);
  const url = withDatabase(adminUrl, name);
  await applyMigrations(source.migrations, { connectionString: url, schema: testSchema });
  await enableGuard(url);
}

/** The guard of the state machine is off by default in production; in tests every move is checked. */
async function enableGuard(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    if (await hasFunction(client, "set_transition_guard")) {
      await client.query(`select ${pg.escapeIdentifier(testSchema)}.set_transition_guard(true)`);
    }
  } finally {
    await client.end();
  }
}

/** Whether the installed schema has a function of this name. */
export async function hasFunction(client: pg.ClientBase | pg.Pool, name: string): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1 and p.proname = $2`,
    [testSchema, name],
  );
  return rows.length > 0;
}

/** One statement on the server itself, outside a transaction. */
export async function admin(adminUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
