import { StoreCore } from "./core.js";
import type { PgStore } from "./pg-store.js";

/** What a store may be able to do. */
export type Capability = "transactional" | "inspect" | "notifying" | "results" | "outputs" | "progress";

/** Effects, checkpoints, enqueues and completions in one transaction with the caller's own writes. */
export type Transactional = Pick<
  PgStore,
  | "beginTx"
  | "commitTx"
  | "rollbackTx"
  | "claimEffect"
  | "checkpointTx"
  | "enqueueTx"
  | "completeTx"
  | "completeTxWithActualWeight"
>;

export type ResultStore = Pick<PgStore, "ackSuccessWithResult">;

/**
 * What this store can do, for code that takes any store: a part is there, or undefined where it is not supported. In
 * PostgreSQL all are there, wake-ups only with a listening connection.
 */
export abstract class CapabilityRoom extends StoreCore {
  get caps(): ReadonlySet<Capability> {
    const caps = new Set<Capability>(["transactional", "inspect", "results"]);
    if ((this as unknown as PgStore).notifying) caps.add("notifying");
    return caps;
  }

  get transactional(): Transactional | undefined {
    return this as unknown as PgStore;
  }

  get resultStore(): ResultStore | undefined {
    return this as unknown as PgStore;
  }
}
