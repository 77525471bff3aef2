import { createHash } from "node:crypto";
import pg from "pg";
import type { ClientBase, ClientConfig, Pool } from "pg";
import { readCommitted } from "../migrate/committed.js";
import { migrate } from "../migrate/migrate.js";

/** Schemas of the kit, and only those, are called so: behind the prefix the migrations and a number. */
const prefix = "headrace_test_";
const pattern = `^${prefix}[0-9a-f]{10}_[0-9]+$`;
const maxSchemas = 1000;

/** Where to make schemas: a pool, an address, or neither for the PG* variables. */
export interface Where {
  readonly pool?: Pool | undefined;
  readonly url?: string | undefined;
}

/** A schema that nobody else uses, as empty as a new one. */
export interface HeldSchema {
  readonly name: string;
  /** Empties it and leaves it to the next test. */
  release(): Promise<void>;
}

/**
 * A fresh schema. The first call in a database installs one; afterwards those that are free are used again, which takes
 * some ten milliseconds. A schema is held by a lock of a connection of its own, so a run that was killed holds nothing, and what it
 * left is cleared by the next.
 */
export async function holdSchema(where: Where): Promise<HeldSchema> {
  const ours = `${prefix}${await migrationsVersion()}_`;
  const client = await connect(where);
  try {
    const name = await take(client, where, ours);
    // Whoever forgets to release it is not kept from ending.
    client.unref();
    return {
      name,
      async release() {
        client.ref();
        try {
          await empty(client, name);
        } catch (error) {
          // Where a test has left a transaction open, the next who takes the schema empties it; one that a test has broken
          // is made anew.
          if (!isLockTimeout(error)) await unmark(client, name).catch(() => undefined);
        } finally {
          await client.end();
        }
      },
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Drops the schemas of the kit that nobody holds, of whatever version, and answers with their names. */
export async function dropTestSchemas(where: Where = {}): Promise<string[]> {
  const client = await connect(where);
  try {
    return await dropFree(client, () => true);
  } finally {
    await client.end();
  }
}

let version: Promise<string> | undefined;

/** Other migrations need other schemas. */
function migrationsVersion(): Promise<string> {
  version ??= readCommitted().then((migrations) => {
    const hashes = migrations.map(({ hash }) => hash).join();
    return createHash("sha256").update(hashes).digest("hex").slice(0, 10);
  });
  return version;
}

/** What the types of node-postgres leave out. */
type Referenced = pg.Client & { ref(): void; unref(): void };

async function connect({ pool, url }: Where): Promise<Referenced> {
  // As the pool itself connects; a copy of its options would lose the password.
  const config: ClientConfig = pool ? pool.options : url === undefined ? {} : { connectionString: url };
  const client = new pg.Client(config) as Referenced;
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** @param ours how schemas of these migrations begin. */
async function take(client: ClientBase, where: Where, ours: string): Promise<string> {
  const before = await names(client);
  for (let number = 1; number <= maxSchemas; number++) {
    const name = `${ours}${number}`;
    if (!(await lock(client, name))) continue;
    try {
      if (!(await prepare(client, where, name))) {
        await unlock(client, name);
        continue;
      }
    } catch (error) {
      await unlock(client, name);
      // Somebody who does not hold it reads or writes in it: a worker that was left running, say.
      if (isLockTimeout(error)) continue;
      throw error;
    }
    if (before.some((other) => !other.startsWith(ours))) {
      await dropFree(client, (other) => !other.startsWith(ours));
    }
    return name;
  }
  throw new Error(`${maxSchemas} test schemas are in use`);
}

/** False: the schema is another role's. */
async function prepare(client: ClientBase, where: Where, name: string): Promise<boolean> {
  const state = await stateOf(client, name);
  if (state === "foreign") return false;
  if (state === "ready") {
    await empty(client, name);
    return true;
  }
  if (state === "unready") await drop(client, name);
  await migrate({
    ...(where.pool && { pool: where.pool }),
    ...(where.url !== undefined && { connectionString: where.url }),
    schema: name,
  });
  const schema = pg.escapeIdentifier(name);
  await client.query(`select ${schema}.set_transition_guard(true), ${schema}.use_test_clock()`);
  await client.query(`comment on schema ${schema} is 'ready'`);
  return true;
}

/** As if newly installed. */
async function empty(client: ClientBase, name: string): Promise<void> {
  await client.query(`select ${pg.escapeIdentifier(name)}.empty_test_schema()`);
}

// What follows is about schemas as such, which are found, marked, locked and dropped from outside.

type State = "ready" | "unready" | "foreign" | "missing";

/** Unready: its maker was killed in the middle, or a test has given rights to others. */
async function stateOf(client: ClientBase, name: string): Promise<State> {
  const { rows } = await client.query<{ state: State }>(
    `select case when not pg_has_role(nspowner, 'usage') then 'foreign'
       when obj_description(oid, 'pg_namespace') is not null
         and not exists (select from aclexplode(nspacl) where grantee <> nspowner) then 'ready'
       else 'unready' end as state
     from pg_namespace where nspname = $1`,
    [name],
  );
  return rows[0]?.state ?? "missing";
}

async function unmark(client: ClientBase, name: string): Promise<void> {
  await client.query(`comment on schema ${pg.escapeIdentifier(name)} is null`);
}

const isLockTimeout = (error: unknown): boolean => (error as { code?: string }).code === "55P03";

/** Of the schemas that are ours to drop. */
async function names(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
     where nspname ~ $1 and pg_has_role(nspowner, 'usage') order by nspname`,
    [pattern],
  );
  return rows.map(({ name }) => name);
}

async function dropFree(client: ClientBase, unwanted: (name: string) => boolean): Promise<string[]> {
  const dropped: string[] = [];
  for (const name of (await names(client)).filter(unwanted)) {
    if (!(await lock(client, name))) continue;
    await drop(client, name);
    await unlock(client, name);
    dropped.push(name);
  }
  return dropped;
}

async function drop(client: ClientBase, name: string): Promise<void> {
  await client.query(`drop schema if exists ${pg.escapeIdentifier(name)} cascade`);
}

async function lock(client: ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ got: boolean }>(
    "select pg_try_advisory_lock(hashtextextended($1, 0)) as got",
    [name],
  );
  return rows[0]?.got ?? false;
}

async function unlock(client: ClientBase, name: string): Promise<void> {
  await client.query("select pg_advisory_unlock(hashtextextended($1, 0))", [name]);
}
