import { setImmediate as nextTurn } from "node:timers/promises";
import type { Attempt } from "./attempt.js";
import type { Availability } from "./availability.js";
import type { Outcome } from "./outcome.js";
import { StoreError, type Ack, type AckResult } from "../store/index.js";
import { jittered, monotonicMs, Notice, pause } from "./timing.js";

const nothing = (): void => undefined;
const maxBatch = 1000;
/** Of an end that the store answers with an error, which is no outage. */
const maxTries = 10;
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

class Waiting {
  readonly attempt: Attempt;
  outcome: Outcome;
  /** The store has answered, or the ack was given up. */
  readonly over: () => void;
  tries = 0;
  /** Nobody answered a try, which may have been heard. */
  uncertain = false;
  /** It was in a batch that the store could not settle: it goes by itself, so that it holds up no other. */
  alone = false;
  /** The store has refused it: what came beside the outcome is left out. */
  bare = false;

  constructor(attempt: Attempt, outcome: Outcome, over: () => void) {
    this.attempt = attempt;
    this.outcome = outcome;
    this.over = over;
  }
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
    return new Promise((resolve) => this.add(attempt, outcome, resolve));
  }

  /** `over` is called when the store has answered, or the ack was given up. */
  add(attempt: Attempt, outcome: Outcome, over: () => void = nothing): void {
    attempt.acking = true;
    this.#waiting.add(new Waiting(attempt, outcome, over));
    if (!this.#sending) void this.#send();
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
      const { outcome, alone } = waiting;
      if (alone && batch.length > 0) continue;
      bytes += outcome.type === "success" ? (outcome.result?.length ?? 0) : 0;
      if (batch.length > 0 && (batch.length >= maxBatch || bytes > maxBatchBytes)) break;
      batch.push(waiting);
      if (alone) break;
    }
    return batch;
  }

  /** False: they are not settled, try again later. */
  async #try(batch: readonly Waiting[]): Promise<boolean> {
    const { ackMany, availability } = this.#options;
    try {
      const results = await ackMany(batch.map(toAck));
      this.#failing = false;
      availability.succeeded();
      batch.forEach((waiting, at) => this.#answered(waiting, results[at]));
      return true;
    } catch (error) {
      const code = error instanceof StoreError ? error.code : "backend";
      if (code === "invalid" && batch.length === 1) {
        for (const waiting of batch) this.#refused(waiting, error);
        return true;
      }
      if (code !== "unavailable" && batch.length > 1) {
        // Nothing was written. Alone, each meets its own fate.
        for (const waiting of batch) waiting.alone = true;
        return true;
      }
      this.#failing = true;
      availability.failed(error);
      for (const waiting of batch) this.#failed(waiting, code === "unavailable", error);
      if (this.#waiting.size === 0) this.#failing = false;
      return false;
    }
  }

  #failed(waiting: Waiting, unheard: boolean, error: unknown): void {
    waiting.tries++;
    if (unheard) waiting.uncertain = true;
    if (waiting.attempt.leaseEndsAt < monotonicMs() || (!unheard && waiting.tries >= maxTries))
      return this.#giveUp(waiting, error);
    // To the end of the line: it must not hold up the others.
    this.#waiting.delete(waiting);
    this.#waiting.add(waiting);
  }

  #answered(waiting: Waiting, result: AckResult | undefined): void {
    this.#remove(waiting);
    if (!result || result.rejected) this.#options.rejected(waiting.attempt, waiting.uncertain);
    else this.#options.settled(waiting.attempt, waiting.outcome, result.state ?? "deleted");
  }

  /** An end that can't be kept as it is (its result, delay or weight) is a failed attempt, and counts as one. */
  #refused(waiting: Waiting, error: unknown): void {
    if (waiting.bare) return this.#giveUp(waiting, error);
    const reason = error instanceof Error ? error.message : String(error);
    const { type } = waiting.outcome;
    waiting.outcome = { type: "retry", error: `the end of the attempt (${type}) was refused: ${reason}` };
    waiting.bare = true;
  }

  #giveUp(waiting: Waiting, error: unknown): void {
    this.#remove(waiting);
    this.#options.givenUp(waiting.attempt, error);
  }

  #remove(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.attempt.acking = false;
    waiting.over();
  }
}

function toAck({ attempt, outcome, bare }: Waiting): Ack {
  const { jobId, leaseId, fence } = attempt.claim;
  const ack: Writable<Ack> = { jobId, leaseId, fence, outcome: outcome.type };
  if ("error" in outcome && outcome.error !== undefined) ack.error = outcome.error;
  if ("delayMs" in outcome && outcome.delayMs !== undefined) ack.delayMs = outcome.delayMs;
  if (!bare && attempt.logs.length > 0) ack.logs = attempt.logs;
  if (!bare && attempt.actualWeight !== undefined) ack.actualWeight = attempt.actualWeight;
  if (outcome.type === "success" && outcome.result) {
    ack.result = outcome.result;
    ack.resultSchemaVersion = outcome.resultVersion ?? 1;
  }
  return ack;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
