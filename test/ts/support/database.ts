import pg from "pg";
import { fillPlaceholders } from "../../../src/migrate/placeholders.js";
import { schemaName } from "../../../src/migrate/schema-name.js";
import { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from "./embedded.js";
import { brokenInvariants } from "./invariants.js";
import { runContext, type RunContext } from "./run-context.js";
import { admin, makeTemplate, testSchema } from "./template.js";
import { withDatabase } from "./url.js";

export interface TestDatabase {
  readonly url: string;
  readonly name: string;
  readonly pool: pg.Pool;
  /** The installed schema: its name, and the name quoted. */
  readonly schema: string;
  readonly identifier: string;
  /** A connection of its own, for transactions by hand; closed with the database. */
  connect(): Promise<pg.Client>;
  /** Replaces `:SCHEMA` and `:SCHEMA_LITERAL` in a text. */
  sql(text: string): string;
  /** Runs a query with placeholders on the pool and answers with its rows. */
  query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]>;
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** false: nothing is installed. */
  readonly installed?: boolean;
  /** false: the test breaks the rules on purpose, so `verify_invariants` is not asked afterwards. */
  readonly invariants?: boolean;
  /** The run it belongs to; found by itself in a test file. */
  readonly context?: RunContext;
  /** Connections of the pool. @defaultValue 10 */
  readonly poolSize?: number;
}

let count = 0;

/** A database of its own, copied from the migrated template. */
export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { adminUrl, template, prefix, managed } = options.context ?? (await runContext());
  const { installed = true, invariants = installed } = options;
  const name = [prefix, process.pid, ++count, ...(invariants ? [] : [uncheckedMark])].join("_");
  const source = installed ? pg.escapeIdentifier(template) : "template0";
  await admin(adminUrl, `create database ${pg.escapeIdentifier(name)} template ${source}`);
  const database = open(withDatabase(adminUrl, name), name, options, async (pool) => {
    // The runner does it when the file has ended, also for databases that were not closed.
    if (!managed && invariants) await assertInvariants(pool);
  });
  return {
    ...database,
    async close() {
      await database.close();
      if (!managed) await admin(adminUrl, `drop database ${pg.escapeIdentifier(name)} with (force)`);
    },
  };
}

/** Marks the name of a database whose invariants are not to be checked. */
export const uncheckedMark = "unchecked";

function open(
  url: string,
  name: string,
  options: TestDatabaseOptions,
  check: (pool: pg.Pool) => Promise<void>,
): TestDatabase {
  const schema = schemaName(testSchema);
  const pool = new pg.Pool({ connectionString: url, max: options.poolSize ?? 10 });
  // Tests cut connections; an idle one that breaks is no failure by itself.
  pool.on("error", () => undefined);
  const clients = new Set<pg.Client>();
  const sql = (text: string): string => fillPlaceholders(text, schema);
  return {
    url,
    name,
    pool,
    schema: schema.name,
    identifier: schema.identifier,
    sql,
    async connect() {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => undefined);
      clients.add(client);
      await client.connect();
      return client;
    },
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const { rows } = await pool.query<Row>(sql(text), [...values]);
      return rows;
    },
    async close() {
      await Promise.all([...clients].map((client) => client.end().catch(() => undefined)));
      try {
        await check(pool);
      } finally {
        await pool.end();
      }
    },
  };
}

async function assertInvariants(pool: pg.Pool): Promise<void> {
  const broken = await brokenInvariants(pool);
  if (broken.length > 0) throw new Error(`broken invariants:\n${broken.join("\n")}`);
}

export interface PrivateServer {
  readonly server: EmbeddedServer;
  readonly database: TestDatabase;
  /** Ends the pool, stops the server and removes it. */
  close(): Promise<void>;
}

/** A server of its own with a migrated database, for tests that stop and start it. */
export async function privateServer(
  options: TestDatabaseOptions & EmbeddedOptions = {},
): Promise<PrivateServer> {
  const server = await startEmbedded(options);
  const name = "headrace_test";
  if (options.installed === false) await admin(server.url(), `create database ${name}`);
  else await makeTemplate(server.url(), name, () => undefined);
  const database = open(server.url(name), name, options, async (pool) => {
    if (options.invariants !== false && options.installed !== false) await assertInvariants(pool);
  });
  return {
    server,
    database,
    async close() {
      try {
        await database.close();
      } finally {
        await server.close();
      }
    },
  };
}
