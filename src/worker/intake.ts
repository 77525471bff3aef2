import type { Claim } from "../store/index.js";
import type { AckQueue } from "./acks.js";
import { Attempt } from "./attempt.js";
import type { Endings } from "./endings.js";
import type { HeldLeases } from "./held.js";
import type { Received } from "./loop.js";
import { WorkerStoppingError } from "./outcome.js";
import type { Releases } from "./releases.js";
import type { Runner } from "./runner.js";
import { isSuspect, Suspects } from "./suspects.js";
import { Notice } from "./timing.js";

export interface IntakeOptions {
  readonly held: HeldLeases;
  readonly acks: AckQueue;
  readonly runner: Runner;
  readonly endings: Endings;
  /** Called when there may be room for another claim. */
  readonly freed: () => void;
  readonly leaseMs: number;
  readonly releases: Releases;
}

/** Takes claims in, and sees each through until its end is on its way to the store. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #running = new Set<Attempt>();
  readonly #emptied = new Notice();
  readonly #suspects: Suspects;
  #closed = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#suspects = new Suspects({
      run: (attempt, ready) => this.#run(attempt, ready),
      putOff: (attempt, delayMs) => {
        attempt.over = true;
        return options.acks.push(attempt, { type: "snooze", delayMs });
      },
      probationMs: options.leaseMs,
    });
  }

  /** Attempts that hold a slot. */
  get running(): number {
    return this.#running.size;
  }

  accept(claims: readonly Claim[], received: Received): void {
    const attempts = claims.map((claim) => new Attempt(claim, received));
    for (const attempt of attempts) {
      this.#options.held.add(attempt);
      if (this.#closed) this.#handBack(attempt);
      else if (!isSuspect(attempt.claim)) void this.#run(attempt);
    }
    if (!this.#closed) this.#suspects.accept(attempts.filter(({ claim }) => isSuspect(claim)));
  }

  /** What comes from now on is handed back at once. */
  close(): void {
    this.#closed = true;
    this.#options.releases.close();
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await this.#emptied.next();
  }

  /** Tells everything that runs to stop, and hands it back without waiting for that. */
  handBackAll(): void {
    for (const attempt of this.#running) this.#handBack(attempt);
  }

  async #run(attempt: Attempt, ready?: Promise<unknown>): Promise<void> {
    const { runner, acks, endings, freed, releases } = this.#options;
    this.#running.add(attempt);
    if (ready) await ready;
    if (!attempt.over) {
      const outcome = await runner.run(attempt);
      if (outcome.type === "rate_limited" && outcome.byHandler) await releases.pace(attempt);
      if (attempt.completed) endings.settled(attempt, outcome, attempt.completed);
      else if (!attempt.over) {
        attempt.over = true;
        acks.add(attempt, outcome);
      }
    }
    this.#running.delete(attempt);
    if (this.#running.size === 0) this.#emptied.notify();
    freed();
  }

  #handBack(attempt: Attempt): void {
    if (attempt.over || attempt.completed) return;
    attempt.over = true;
    attempt.abort.abort(new WorkerStoppingError());
    this.#options.acks.add(attempt, { type: "rate_limited" });
  }
}
