import { Notice } from "./timing.js";

/** Whether the store can be reached, as the last answer says. Told once per change, so an outage does not fill the log. */
export class Availability {
  readonly changed = new Notice();
  readonly #tell: (available: boolean, error?: unknown) => void;
  #available = true;

  constructor(tell: (available: boolean, error?: unknown) => void) {
    this.#tell = tell;
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
    if (!this.#available) return;
    this.#available = false;
    this.#tell(false, error);
    this.changed.notify();
  }
}
