import type { Attempt } from "./attempt.js";
import type { Availability } from "./availability.js";
import type { LeaseRef } from "../store/index.js";
import { LeaseLostError } from "./outcome.js";
import { firstOf, monotonicMs, pause, Ticker } from "./timing.js";

export interface HeldOptions {
  readonly renew: (leases: readonly LeaseRef[], leaseMs: number) => Promise<readonly string[]>;
  readonly leaseMs: number;
  readonly availability: Availability;
  /** The lease is gone; the attempt's signal has been aborted. */
  readonly lost: (attempt: Attempt) => void;
  readonly failed: (error: unknown) => void;
}

/** Every claimed job whose end is not durable yet. Renews all of their leases together, at a third of the lease. */
export class HeldLeases {
  readonly #options: HeldOptions;
  readonly #byId = new Map<string, Attempt>();
  readonly #ticker: Ticker;

  constructor(options: HeldOptions) {
    this.#options = options;
    this.#ticker = new Ticker(options.leaseMs / 3.6, () => this.#renew(), options.failed);
  }

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): IterableIterator<Attempt> {
    return this.#byId.values();
  }

  add(attempt: Attempt): void {
    // Whoever claims a job again has lost it before.
    const before = this.#byId.get(attempt.claim.id);
    if (before) this.lose(before);
    this.#byId.set(attempt.claim.id, attempt);
  }

  remove(attempt: Attempt): void {
    if (this.#byId.get(attempt.claim.id) === attempt) this.#byId.delete(attempt.claim.id);
  }

  lose(attempt: Attempt): void {
    this.remove(attempt);
    if (attempt.over) return;
    attempt.over = true;
    attempt.abort.abort(new LeaseLostError(attempt.claim.id));
    this.#options.lost(attempt);
  }

  stop(): Promise<void> {
    return this.#ticker.stop();
  }

  /** Tries until the store has answered, or nothing is left to renew. */
  async #renew(): Promise<void> {
    const { leaseMs, availability } = this.#options;
    for (let delay = leaseMs / 60; ; delay = Math.min(delay * 2, leaseMs / 10)) {
      // A lease that was extended further by its handler must not be shortened.
      const due = [...this.#byId.values()].filter((one) => one.leaseEndsAt < monotonicMs() + leaseMs);
      if (due.length === 0) return;
      const sentAt = monotonicMs();
      try {
        const answer = this.#options.renew(
          due.map(({ claim }) => claim),
          leaseMs,
        );
        this.#renewed(due, new Set(await within(answer, leaseMs / 3)), sentAt + leaseMs);
        availability.succeeded();
        return;
      } catch (error) {
        availability.failed(error);
        for (const attempt of due) {
          // Ours to judge only while nobody answers; an ack that is on its way has its own end.
          if (attempt.leaseEndsAt < monotonicMs() && !attempt.acking) this.lose(attempt);
        }
      }
      await pause(delay);
    }
  }

  #renewed(asked: readonly Attempt[], lost: ReadonlySet<string>, leaseEndsAt: number): void {
    for (const attempt of asked) {
      if (!lost.has(attempt.claim.id)) attempt.leaseEndsAt = Math.max(attempt.leaseEndsAt, leaseEndsAt);
      else if (this.#byId.get(attempt.claim.id) === attempt && !attempt.acking) this.lose(attempt);
    }
  }
}

/** The answer, or an error when it is not there in time; the call itself has its own deadline in the driver. */
async function within<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  answer.catch(() => undefined);
  let result: { readonly value: T } | undefined;
  await firstOf(
    async () => {
      result = { value: await answer };
    },
    (over) => pause(timeoutMs, over),
  );
  if (!result) throw new Error(`no answer to a renewal within ${Math.round(timeoutMs)} ms`);
  return result.value;
}
