import type pg from "pg";
import type { TestDatabase } from "./database.js";

/**
 * Runs `work` on `count` connections at the same time; all are connected before the first begins.
 * Every one ends before a failure is thrown.
 */
export async function concurrently<T>(
  database: TestDatabase,
  count: number,
  work: (client: pg.Client, index: number) => Promise<T>,
): Promise<T[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => database.connect()));
  try {
    const results = await Promise.allSettled(clients.map((client, index) => work(client, index)));
    return results.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}
