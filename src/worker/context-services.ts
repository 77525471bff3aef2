import type { Client } from "../client/client.js";
import type { Attempt } from "./attempt.js";
import type { Logger } from "./logger.js";
import type { PgStore } from "../store/index.js";
import type { Semaphore } from "./semaphore.js";

/** What the contexts of a worker share. */
export interface ContextServices {
  readonly store: PgStore;
  /** Of the worker; each context makes its own of it. */
  readonly client: Client;
  readonly logger: Logger;
  /** For handlers that hold a transaction. */
  readonly transactions: Semaphore;
  /** Tells everybody that the lease is lost, and throws. */
  readonly lose: (attempt: Attempt) => never;
  /** Told when the handler has committed the job's completion: there is no lease any more. */
  readonly completed: (attempt: Attempt) => void;
}
