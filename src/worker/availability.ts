import { StoreError } from "../store/index.js";
import { Notice } from "./timing.js";

/** How often the same fault is told. */
const repeatMs = 60_000;

/** Whether the store can be reached, as the last answer says. Told once per change, so an outage does not fill the log. */
export class Availability {
  readonly changed = new Notice();
  readonly #tell: (available: boolean, error?: unknown) => void;
  readonly #fault: (error: unknown) => void;
  #available = true;
  #lastFault = { message: "", at: 0 };

  /** @param fault told of errors of another kind, the same one once a minute. */
  constructor(tell: (available: boolean, error?: unknown) => void, fault: (error: unknown) => void) {
    this.#tell = tell;
    this.#fault = fault;
  }

  get available(): boolean {
    return this.#available;
  }

  succeeded(): void {
    if (this.#available) return;
    this.#available = true;
    this.#tell(true);
    this.changed.notify();
  }

  failed(error: unknown): void {
    if (!(error instanceof StoreError) || error.code !== "unavailable") {
      const message = error instanceof Error ? error.message : String(error);
      const now = performance.now();
      if (message !== this.#lastFault.message || now > this.#lastFault.at + repeatMs) {
        this.#lastFault = { message, at: now };
        this.#fault(error);
      }
      return;
    }
    if (!this.#available) return;
    this.#available = false;
    this.#tell(false, error);
    this.changed.notify();
  }
}
