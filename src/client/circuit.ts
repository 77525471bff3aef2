import { milliseconds, type Duration } from "../duration.js";
import { StoreError } from "../store/index.js";

export interface CircuitBreakerOptions {
  /** It opens when so many calls in a row could not reach the database. @defaultValue 5 */
  readonly threshold?: number;
  /** How long it stays open before one call may try again. @defaultValue "10s" */
  readonly coolDown?: Duration;
}

/** closed: calls go through. open: they are refused at once. half-open: one finds out, the others are refused. */
export type CircuitState = "closed" | "open" | "half-open";

export interface CircuitStatus {
  readonly state: CircuitState;
  /** Calls in a row that could not reach the database. */
  readonly failures: number;
  /** In how many ms the next call is let through; 0: now, or when the one that tries has its answer. */
  readonly retryInMs: number;
}

/**
 * Keeps callers from queueing up before a database that can't be reached. Only StoreErrors with the code `unavailable`
 * count; any other answer, a refusal too, is an answer, and closes it.
 */
export class CircuitBreaker {
  readonly #threshold: number;
  readonly #coolDownMs: number;
  readonly #changed: (status: CircuitStatus, error?: unknown) => void;
  readonly #now: () => number;
  #state: CircuitState = "closed";
  #failures = 0;
  #retryAt = 0;
  #lastError: unknown;
  /** Rises with each change, so that calls from before it decide nothing any more. */
  #era = 0;

  /** @throws RangeError for a threshold below 1 or a cool-down that is none. */
  constructor(
    options: CircuitBreakerOptions,
    changed: (status: CircuitStatus, error?: unknown) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#threshold = options.threshold ?? 5;
    if (!Number.isInteger(this.#threshold) || this.#threshold < 1)
      throw new RangeError(`threshold must be a whole number >= 1, not ${this.#threshold}`);
    this.#coolDownMs = milliseconds(options.coolDown ?? 10_000, "coolDown");
    this.#changed = changed;
    this.#now = now;
  }

  get status(): CircuitStatus {
    return { state: this.#state, failures: this.#failures, retryInMs: this.#retryInMs() };
  }

  /** @throws what the call throws; StoreError `unavailable` where it was not made. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#enter();
    const era = this.#era;
    try {
      const answer = await call();
      if (era === this.#era) this.#answered();
      return answer;
    } catch (error) {
      if (era !== this.#era) throw error;
      if (error instanceof StoreError && error.code === "unavailable") this.#failed(error);
      else this.#answered();
      throw error;
    }
  }

  #enter(): void {
    if (this.#state === "closed") return;
    const retryInMs = this.#retryInMs();
    if (this.#state === "open" && retryInMs === 0) return this.#change("half-open");
    const next = this.#state === "open" ? `the next call may try in ${retryInMs} ms` : "one call is trying";
    throw new StoreError(
      "unavailable",
      `the circuit is open: ${this.#failures} calls in a row could not reach the database; ${next}`,
      { fields: { circuit: this.#state, retry_after_ms: retryInMs }, cause: this.#lastError },
    );
  }

  #answered(): void {
    this.#failures = 0;
    this.#lastError = undefined;
    if (this.#state !== "closed") this.#change("closed");
  }

  #failed(error: StoreError): void {
    this.#failures++;
    this.#lastError = error;
    if (this.#state === "closed" && this.#failures < this.#threshold) return;
    this.#retryAt = this.#now() + this.#coolDownMs;
    this.#change("open", error);
  }

  #change(state: CircuitState, error?: unknown): void {
    this.#state = state;
    this.#era++;
    this.#changed(this.status, error);
  }

  #retryInMs(): number {
    return this.#state === "open" ? Math.max(0, Math.ceil(this.#retryAt - this.#now())) : 0;
  }
}
