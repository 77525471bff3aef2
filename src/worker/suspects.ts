import type { Claim } from "../store/index.js";
import type { Attempt } from "./attempt.js";
import { firstOf, pause } from "./timing.js";

export interface SuspectsOptions {
  /** Runs the attempt once `ready`; resolves when its slot is free again. */
  readonly run: (attempt: Attempt, ready: Promise<unknown>) => Promise<void>;
  /** Hands the attempt back for a while; resolves when that is durable. */
  readonly putOff: (attempt: Attempt, delayMs: number) => Promise<void>;
  /** One that has run for so long without taking the worker down holds up the next no more. */
  readonly probationMs: number;
}

/** A job that was there when so many workers died is quarantined by the next death: one less than SQL's crash_limit(). */
const lastChance = 2;
/** How far apart those are put off that can't run now. */
const apartMs = 100;

export const isSuspect = ({ crashAttempt }: Claim): boolean => crashAttempt >= lastChance;

/**
 * Jobs whose next crash ends in quarantine. Only some of them are to blame for the deaths that all have seen, so they must
 * not die together once more: one runs at a time, and the others are not even held. Jobs that have seen fewer deaths run
 * as all others do, so a worker that was killed with many jobs is made up for at full width.
 */
export class Suspects {
  readonly #options: SuspectsOptions;
  #running = false;
  #waiting = 0;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  accept(attempts: readonly Attempt[]): void {
    const rest = [...attempts];
    const next = this.#running ? undefined : rest.shift();
    const putOff = rest.map((attempt) => this.#options.putOff(attempt, ++this.#waiting * apartMs));
    if (next) void this.#run(next, Promise.all(putOff));
  }

  async #run(attempt: Attempt, ready: Promise<unknown>): Promise<void> {
    const { run, probationMs } = this.#options;
    this.#running = true;
    this.#waiting = 0;
    await firstOf(
      () => run(attempt, ready),
      async (over) => {
        await ready;
        await pause(probationMs, over, { ref: false });
      },
    );
    this.#running = false;
    this.#waiting = 0;
  }
}
