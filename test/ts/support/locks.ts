import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

interface HasBackend {
  readonly processID?: number;
}

/** The backend of a connection, as pg_stat_activity calls it. */
export function backendPid(client: pg.ClientBase): number {
  const pid = (client as HasBackend).processID;
  if (!pid) throw new Error("the client is not connected");
  return pid;
}

/**
 * Waits until the query that runs on `client` waits for a lock, and fails when it does not.
 * Asks on `observer`, which must be another connection.
 */
export async function blocked(
  observer: pg.Pool | pg.ClientBase,
  client: pg.ClientBase,
  timeoutMs = 60_000,
): Promise<void> {
  const pid = backendPid(client);
  const deadline = Date.now() + timeoutMs;
  let seen = "nothing";
  while (Date.now() < deadline) {
    const { rows } = await observer.query<{ state: string; wait: string | null; query: string }>(
      "select state, wait_event_type as wait, query from pg_stat_activity where pid = $1",
      [pid],
    );
    if (rows[0]?.wait === "Lock") return;
    seen = JSON.stringify(rows[0] ?? null);
    await sleep(5);
  }
  throw new Error(`expected backend ${pid} to wait for a lock, but saw ${seen}`);
}
