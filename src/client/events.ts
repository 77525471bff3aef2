import type { Enqueued } from "../store/index.js";
import type { CircuitStatus } from "./circuit.js";
import type { EnqueueOptions } from "./options.js";

/** A job as it was asked for. */
export interface EnqueueRequest {
  readonly kind: string;
  readonly payload?: unknown;
  readonly options?: EnqueueOptions;
}

/** Each event of a client, with what its listener gets. One of after and failed follows each before. */
export interface ClientEvents {
  /** Before anything is checked or sent. `transaction`: in one of the caller's, which may still roll back. */
  "enqueue:before": [{ batch: readonly EnqueueRequest[]; transaction: boolean }];
  /** The store has taken the batch; `enqueued` is in its order. */
  "enqueue:after": [
    {
      batch: readonly EnqueueRequest[];
      transaction: boolean;
      enqueued: readonly Enqueued[];
      durationMs: number;
    },
  ];
  /** What the caller gets thrown: a refusal, an outage, a payload that its schema refuses. */
  "enqueue:failed": [
    { batch: readonly EnqueueRequest[]; transaction: boolean; error: unknown; durationMs: number },
  ];
  /** The circuit breaker has opened, closed, or lets one call try. */
  "circuit:changed": [CircuitStatus & { error?: unknown }];
}
