import { setTimeout as sleep } from "node:timers/promises";

/** Waits until something holds, and fails when it does not. */
export async function eventually(
  what: string,
  holds: () => Promise<boolean> | boolean,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await sleep(20);
  }
}
