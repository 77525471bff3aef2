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
export type OutputStore = Pick<PgStore, "writeJobOutput">;
export type ProgressStore = Pick<PgStore, "writeJobProgress">;
export type ResultInspect = Pick<PgStore, "getJobResult">;
export type OutputInspect = Pick<PgStore, "getJobOutput">;
export type ProgressInspect = Pick<PgStore, "getJobProgress">;
export type CheckpointInspect = Pick<PgStore, "getJobCheckpoint">;
export type Inspect = Pick<PgStore, "getJob" | "listJobs" | "counts" | "queueStats" | "history">;

/**
 * What this store can do, for code that takes any store: a part is there, or undefined where it is not supported. In
 * PostgreSQL all are there, wake-ups only with a listening connection.
 */
export abstract class CapabilityRoom extends StoreCore {
  get caps(): ReadonlySet<Capability> {
    const caps = new Set<Capability>(["transactional", "inspect", "results", "outputs", "progress"]);
    if ((this as unknown as PgStore).notifying) caps.add("notifying");
    return caps;
  }

  get transactional(): Transactional | undefined {
    return this as unknown as PgStore;
  }

  get resultStore(): ResultStore | undefined {
    return this as unknown as PgStore;
  }

  get outputStore(): OutputStore | undefined {
    return this as unknown as PgStore;
  }

  get progressStore(): ProgressStore | undefined {
    return this as unknown as PgStore;
  }

  get inspect(): Inspect | undefined {
    return this as unknown as PgStore;
  }

  get resultInspect(): ResultInspect | undefined {
    return this as unknown as PgStore;
  }

  get outputInspect(): OutputInspect | undefined {
    return this as unknown as PgStore;
  }

  get progressInspect(): ProgressInspect | undefined {
    return this as unknown as PgStore;
  }

  get checkpointInspect(): CheckpointInspect | undefined {
    return this as unknown as PgStore;
  }
}
