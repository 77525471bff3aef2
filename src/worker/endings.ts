import type { Attempt } from "./attempt.js";
import { describeError } from "./describe-error.js";
import type { WorkerEmitter } from "./events.js";
import type { HeldLeases } from "./held.js";
import { LeaseLostError, type Outcome } from "./outcome.js";
import { monotonicMs } from "./timing.js";

export interface EndingsOptions {
  readonly held: HeldLeases;
  readonly events: WorkerEmitter;
  /** Called when there may be room for another claim. */
  readonly freed: () => void;
}

/** What follows when an attempt is over, by whichever way: its lease is let go, and everybody hears of it. */
export class Endings {
  readonly #options: EndingsOptions;

  constructor(options: EndingsOptions) {
    this.#options = options;
  }

  /** Its end is durable, and the job in this state. */
  settled(attempt: Attempt, outcome: Outcome, state: string): void {
    const { events, freed } = this.#options;
    this.#letGo(attempt);
    const { job } = attempt;
    const { type } = outcome;
    const durationMs = monotonicMs() - attempt.startedAt;
    const error = "error" in outcome ? outcome.error : undefined;
    if (error === undefined) events.tell("job:settled", { job, state, outcome: type, durationMs });
    else events.tell("job:settled", { job, state, error, outcome: type, durationMs });
    if (state === "archived" || state === "undecodable")
      events.tell("job:dead", { job, state, ...(error !== undefined && { error }) });
    freed();
  }

  /** Its end came too late; `uncertain`: unless an earlier try was heard, whose answer was lost. */
  rejected(attempt: Attempt, uncertain: boolean): void {
    this.#abandon(attempt);
    this.#options.events.tell(uncertain ? "job:uncertain" : "job:lost", { job: attempt.job });
    this.#options.freed();
  }

  /** Nobody has heard its end, and nobody will. */
  givenUp(attempt: Attempt, error: unknown): void {
    this.#abandon(attempt);
    this.#options.events.tell("job:lost", { job: attempt.job, error: describeError(error) });
    this.#options.freed();
  }

  /** Its lease is gone while it ran. */
  lost(attempt: Attempt): void {
    this.#options.events.tell("job:lost", { job: attempt.job });
  }

  #letGo(attempt: Attempt): void {
    this.#options.held.remove(attempt);
    attempt.over = true;
  }

  #abandon(attempt: Attempt): void {
    this.#letGo(attempt);
    attempt.abort.abort(new LeaseLostError(attempt.claim.id));
  }
}
