import { setImmediate as nextTurn } from "node:timers/promises";
import type { Attempt } from "./attempt.js";
import type { Availability } from "./availability.js";
import type { Outcome } from "./outcome.js";
import { StoreError, type Ack, type AckResult } from "../store/index.js";
import { jittered, monotonicMs, Notice, pause } from "./timing.js";

const maxBatch = 1000;
const maxBatchBytes = 16 * 1024 * 1024;

export interface AckQueueOptions {
  readonly ackMany: (acks: readonly Ack[]) => Promise<readonly AckResult[]>;
  readonly availability: Availability;
  /** The end is durable; `state` is where the job stands now. */
  readonly settled: (attempt: Attempt, outcome: Outcome, state: string) => void;
  /** The lease no longer holds the job. `uncertain`: an earlier try may have been heard. */
  readonly rejected: (attempt: Attempt, uncertain: boolean) => void;
  /** The lease has run out while nobody answered, or the store refuses the ack for good. */
  readonly givenUp: (attempt: Attempt, error: unknown) => void;
}

interface Waiting {
  readonly attempt: Attempt;
  outcome: Outcome;
  tries: number;
  resolve(): void;
}

/**
 * Ends of attempts on their way to the store. One goes at once when nothing is on its way; those that come meanwhile
 * go together. While the store can't be reached they are tried again until the lease of each has run out.
 */
export class AckQueue {
  readonly #options: AckQueueOptions;
  readonly #emptied = new Notice();
  readonly #waiting = new Set<Waiting>();
  #sending = false;
  #failing = false;

  constructor(options: AckQueueOptions) {
    this.#options = options;
  }

  /** The last try failed: no more work is to be claimed until these are told. */
  get failing(): boolean {
    return this.#failing;
  }

  /** Attempts whose end is not durable. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Resolves when the store has answered, or the ack was given up. */
  push(attempt: Attempt, outcome: Outcome): Promise<void> {
    attempt.acking = true;
    return new Promise((resolve) => {
      this.#waiting.add({ attempt, outcome, tries: 0, resolve });
      if (!this.#sending) void this.#send();
    });
  }

  /** Resolves when every ack has been answered or given up. */
  async drained(): Promise<void> {
    while (this.#waiting.size > 0) await this.#emptied.next();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    let delay = 50;
    while (this.#waiting.size > 0) {
      // What ends in the same turn goes together.
      await nextTurn();
      const batch = this.#nextBatch();
      if (await this.#try(batch)) {
        delay = 50;
        continue;
      }
      await pause(jittered(delay));
      delay = Math.min(delay * 2, 1000);
    }
    this.#sending = false;
    this.#emptied.notify();
  }

  #nextBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#waiting) {
      const { outcome } = waiting;
      bytes += outcome.type === "success" ? (outcome.result?.length ?? 0) : 0;
      if (batch.length > 0 && (batch.length >= maxBatch || bytes > maxBatchBytes)) break;
      batch.push(waiting);
    }
    return batch;
  }

  /** False: nobody answered, try again later. */
  async #try(batch: readonly Waiting[]): Promise<boolean> {
    const { ackMany, availability } = this.#options;
    try {
      const results = await ackMany(batch.map(toAck));
      this.#failing = false;
      availability.succeeded();
      batch.forEach((waiting, at) => this.#answered(waiting, results[at]));
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === "invalid") {
        // Nothing was written. Alone, each meets its own fate.
        if (batch.length > 1) for (const one of batch) await this.#try([one]);
        else if (batch[0]) this.#refused(batch[0], error);
        return true;
      }
      this.#failing = true;
      availability.failed(error);
      for (const waiting of batch) {
        waiting.tries++;
        if (waiting.attempt.leaseEndsAt < monotonicMs()) this.#giveUp(waiting, error);
      }
      if (this.#waiting.size === 0) this.#failing = false;
      return false;
    }
  }

  #answered(waiting: Waiting, result: AckResult | undefined): void {
    this.#remove(waiting);
    if (!result || result.rejected) this.#options.rejected(waiting.attempt, waiting.tries > 0);
    else this.#options.settled(waiting.attempt, waiting.outcome, result.state ?? "deleted");
  }

  #refused(waiting: Waiting, error: unknown): void {
    if (waiting.outcome.type !== "success" || waiting.outcome.result === undefined)
      return this.#giveUp(waiting, error);
    // The work is done but its result can't be kept: that is a failed attempt, and counts as one.
    const reason = error instanceof Error ? error.message : String(error);
    waiting.outcome = { type: "retry", error: `the result could not be stored: ${reason}` };
  }

  #giveUp(waiting: Waiting, error: unknown): void {
    this.#remove(waiting);
    this.#options.givenUp(waiting.attempt, error);
  }

  #remove(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.attempt.acking = false;
    waiting.resolve();
  }
}

function toAck({ attempt, outcome }: Waiting): Ack {
  return {
    jobId: attempt.claim.jobId,
    leaseId: attempt.claim.leaseId,
    fence: attempt.claim.fence,
    outcome: outcome.type,
    ...("error" in outcome && outcome.error !== undefined && { error: outcome.error }),
    ...("delayMs" in outcome && outcome.delayMs !== undefined && { delayMs: outcome.delayMs }),
    ...(attempt.logs.length > 0 && { logs: attempt.logs }),
    ...(attempt.actualWeight !== undefined && { actualWeight: attempt.actualWeight }),
    ...(outcome.type === "success" &&
      outcome.result && { result: outcome.result, resultSchemaVersion: outcome.resultVersion ?? 1 }),
  };
}
