import { setImmediate } from "node:timers/promises";

export interface GuardOptions {
  /** How long handlers may go on after a fault (ms); what has not ended by then is left to its lease. */
  readonly graceMs: number;
  /** Hears of each fault. */
  readonly fault: (error: unknown) => void;
  /** Called at the first one; resolves when nothing is held any more. */
  readonly drain: () => Promise<void>;
}

/** After the drain, for whoever started the worker to close what he has open. */
const closingMs = 5_000;

/** Guards of this process that drain. */
let draining = 0;

/**
 * An error that nobody caught (an unhandled rejection is one, by Node's default) no longer ends the process at once: it
 * drains, and then exits with 1. Active until the returned function is called.
 */
export function guardProcess({ graceMs, fault, drain }: GuardOptions): () => void {
  let first = true;
  const hear = (error: unknown): void => {
    fault(error);
    if (!first) return;
    first = false;
    draining++;
    process.exitCode = 1;
    // A handler whose callback threw may never end. Its job counts a crash then, as without a guard, and does not go
    // back unharmed: it would take down one worker after the other.
    setTimeout(() => process.exit(1), graceMs).unref();
    void drain()
      .catch(fault)
      // A worker beside this one hears of the same fault.
      .then(() => setImmediate())
      .then(() => {
        if (--draining === 0) setTimeout(() => process.exit(1), closingMs).unref();
      });
  };
  process.on("uncaughtException", hear);
  return () => void process.off("uncaughtException", hear);
}
