import type { Attempt } from "./attempt.js";
import type { Logger } from "./logger.js";
import type { WorkerStore } from "./port.js";
import type { Semaphore } from "./semaphore.js";

/** What the contexts of a worker share. */
export interface ContextServices {
  readonly store: WorkerStore;
  readonly logger: Logger;
  /** For handlers that hold a transaction. */
  readonly transactions: Semaphore;
  readonly isRejected: (error: unknown) => boolean;
  /** Tells everybody that the lease is lost, and throws. */
  readonly lose: (attempt: Attempt) => never;
}
