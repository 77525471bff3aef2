import pg from "pg";
import type { ClientBase, Pool } from "pg";

/** Where to connect: a pool of the caller, which stays open, or an address; neither means the PG* variables. */
export interface Connection {
  readonly pool?: Pool;
  readonly connectionString?: string;
}

/** Lends one connection to `work`. */
export async function withClient<T>(from: Connection, work: (client: ClientBase) => Promise<T>): Promise<T> {
  if (from.pool) {
    const client = await from.pool.connect();
    let failure: Error | undefined;
    const onError = (error: Error): void => void (failure = error);
    client.on("error", onError);
    try {
      return await work(client);
    } catch (error) {
      // A connection in an unknown state does not go back to its pool.
      failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      client.off("error", onError);
      client.release(failure);
    }
  }
  const client = new pg.Client(
    from.connectionString === undefined ? {} : { connectionString: from.connectionString },
  );
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Runs `work` in a transaction. READ COMMITTED whatever the role's default is: what is read after the wait for a lock
 * must be what the previous holder left.
 */
export async function inTransaction<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query("begin isolation level read committed");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}
