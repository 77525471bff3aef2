import type { Availability } from "./availability.js";
import { Ticker } from "./timing.js";

export interface DutiesOptions {
  /** Names of the store's duties. */
  readonly names: () => Promise<readonly string[]>;
  /** Runs one, where this holder can have it; undefined: somebody else has it. */
  readonly run: (duty: string) => Promise<{ readonly error: string | null } | undefined>;
  readonly release: (duty: string) => Promise<void>;
  readonly availability: Availability;
  readonly failed: (duty: string, error: string) => void;
}

const everyMs = 1000;
/** While the store can't be reached the claims find out when it can again; a duty is tried this often. */
const outageMs = 5000;

/** Runs the store's sweeps, about every second each, one a call, so that none holds up another. */
export class Duties {
  readonly #options: DutiesOptions;
  readonly #held = new Set<string>();
  readonly #reported = new Set<string>();
  readonly #ticker: Ticker;
  #names: readonly string[] = [];
  #active = true;
  #triedAt = 0;

  constructor(options: DutiesOptions) {
    this.#options = options;
    this.#ticker = new Ticker(
      everyMs,
      () => this.#round(),
      (error) => options.availability.failed(error),
      Math.random() * 200,
    );
  }

  /** False: it has resigned, and others take over at once. */
  get active(): boolean {
    return this.#active;
  }

  async resign(): Promise<void> {
    this.#active = false;
    await this.#release();
  }

  resume(): void {
    this.#active = true;
  }

  async stop(): Promise<void> {
    this.#active = false;
    await this.#ticker.stop();
    await this.#release();
  }

  async #round(): Promise<void> {
    const { availability, names, run } = this.#options;
    if (!this.#active || (!availability.available && performance.now() - this.#triedAt < outageMs)) return;
    this.#triedAt = performance.now();
    if (this.#names.length === 0) this.#names = await names();
    for (const name of this.#names) {
      if (!this.#active) break;
      const did = await run(name);
      if (!did) continue;
      this.#held.add(name);
      this.#report(name, did.error);
    }
    // It resigned while the last one ran.
    if (!this.#active) await this.#release();
  }

  /** Once per outbreak, not once per try. */
  #report(name: string, error: string | null): void {
    if (error === null) this.#reported.delete(name);
    else if (!this.#reported.has(name)) {
      this.#reported.add(name);
      this.#options.failed(name, error);
    }
  }

  async #release(): Promise<void> {
    const held = [...this.#held];
    this.#held.clear();
    // Where that fails, the duty's own lease ends soon.
    await Promise.all(held.map((name) => this.#options.release(name).catch(() => undefined)));
  }
}
