import type { Client } from "../client/client.js";
import { traceHeaders } from "../client/headers.js";
import { milliseconds, type Duration } from "../duration.js";
import type { Attempt } from "./attempt.js";
import type { ContextServices } from "./context-services.js";
import { cutBytes, storable } from "./describe-error.js";
import { completeOnce, stepOnce, surroundingTransaction } from "./effects.js";
import { historyLogger } from "./history-logger.js";
import { asHolder, mustHold } from "./holder.js";
import type { Logger } from "./logger.js";
import { Ending, type Outcome } from "./outcome.js";
import type { PgTx } from "../store/index.js";
import { jsonCodec } from "../tasks/codec.js";
import { jsonForm, type ResultForm } from "../tasks/registry.js";
import { Steps } from "./steps.js";
import { monotonicMs } from "./timing.js";

/** What a handler knows about its job, and may do with it. Every write is refused once the lease is lost. */
export class JobContext {
  readonly id: string;
  readonly kind: string;
  /** As the handler gets it: decoded, brought to the task's version, read by its schema. */
  readonly payload: unknown;
  readonly queue: string;
  readonly partitionKey: string;
  readonly priority: number;
  /** Failed attempts before this one. */
  readonly attempt: number;
  /** Workers that died of this job before. */
  readonly crashAttempt: number;
  readonly maxAttempts: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Instants in ms since the epoch, by the clock of the store. */
  readonly enqueuedAtMs: number;
  readonly scheduledAtMs: number;
  readonly deadlineMs: number | null;
  /** Of the job of a tick: which schedule, and the instant that it was due at; null of any other. */
  readonly periodicScheduleId: string | null;
  readonly periodicTickMs: number | null;
  /** Rises with each claim; of two holders the one with the greater fence is right. */
  readonly fence: bigint;
  readonly #attempt: Attempt;
  readonly #services: ContextServices;
  readonly #form: ResultForm;
  /** Made when they are first needed; before, where an earlier attempt has left some. */
  #steps: Steps | undefined;
  #log: Logger | undefined;
  #client: Client | undefined;

  /** @throws CheckpointStaleError where what an earlier attempt has left can't be gone on from. */
  constructor(attempt: Attempt, payload: unknown, services: ContextServices, form = jsonForm) {
    const { claim } = attempt;
    this.id = claim.id;
    this.kind = claim.kind;
    this.payload = payload;
    this.queue = claim.queue;
    this.partitionKey = claim.partitionKey;
    this.priority = claim.priority;
    this.attempt = claim.attempt;
    this.crashAttempt = claim.crashAttempt;
    this.maxAttempts = claim.maxAttempts;
    this.headers = claim.headers ?? {};
    this.enqueuedAtMs = claim.enqueuedAtMs;
    this.scheduledAtMs = claim.scheduledAtMs;
    this.deadlineMs = claim.deadlineMs;
    const tickMs = Number(this.headers["headrace-tick-ms"]);
    this.periodicScheduleId = this.headers["headrace-schedule-id"] ?? null;
    this.periodicTickMs = Number.isNaN(tickMs) ? null : tickMs;
    this.fence = claim.fence;
    this.#attempt = attempt;
    this.#services = services;
    this.#form = form;
    if (claim.checkpoint !== null) this.#steps = this.#makeSteps();
  }

  /** Aborts when the handler is to stop: lease lost, timeout, deadline, or the worker stops. */
  get signal(): AbortSignal {
    return this.#attempt.abort.signal;
  }

  /** Goes to the worker's log and into the attempt's history. */
  get log(): Logger {
    return (this.#log ??= historyLogger(this.#attempt, this.#services.logger));
  }

  /**
   * Enqueues jobs that belong to this one: they inherit its trace, and within `once` and `stepOnce` they are enqueued in
   * that transaction, so they are there exactly when the effect is.
   */
  get client(): Client {
    return (this.#client ??= this.#services.client.with({
      headers: traceHeaders(this.headers),
      tx: () => surroundingTransaction(),
    }));
  }

  /**
   * Does a part of the work at most once per success: it is recorded before it begins and when it has ended, and another
   * attempt skips what has ended and gets its result (which must have a JSON form) back. Names are unique in a handler.
   */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    mustHold(this.#attempt);
    return await this.#recorded.run(name, work);
  }

  /** Where the handler has come to, as it last said by `saveCursor`, maybe in an earlier attempt. */
  cursor<T = unknown>(): T | undefined {
    const { cursor } = this.#recorded;
    return cursor === null ? undefined : (jsonCodec.decode(cursor) as T);
  }

  /** Records durably where the handler has come to; the value must have a JSON form, at most 1 MiB. A job has one cursor. */
  async saveCursor(value: unknown): Promise<void> {
    const cursor = jsonCodec.encode(value);
    mustHold(this.#attempt);
    await this.#recorded.saveCursor(cursor);
  }

  /**
   * Does something for each item, and records after each where to go on: `source` gets the last recorded cursor, and each
   * item brings its own. An item may be done twice when the worker dies in between.
   */
  async forEach<Item, Cursor>(
    source: (cursor: Cursor | undefined) => AsyncIterable<Item> | Iterable<Item>,
    cursorOf: (item: Item) => Cursor,
    work: (item: Item) => void | Promise<void>,
  ): Promise<void> {
    for await (const item of source(this.cursor<Cursor>())) {
      this.signal.throwIfAborted();
      await work(item);
      await this.saveCursor(cursorOf(item));
    }
  }

  /**
   * Does the work and completes the job in one transaction, so both happen exactly once; `transaction` is the connection
   * to do it on. What `work` returns is the job's result, and what was logged so far goes along. False: it had been done
   * already, and `work` was not called. Behind it nothing can be written for the job, and what the handler returns is not
   * kept.
   */
  async once<Result = void>(work: (transaction: PgTx) => Promise<Result>): Promise<boolean> {
    return completeOnce(this.#attempt, this.#services, this.#form, work);
  }

  /** As `step`, with its effect and its record in one transaction, so it happens exactly once. The job goes on. */
  async stepOnce(name: string, work: (transaction: PgTx) => Promise<void>): Promise<boolean> {
    mustHold(this.#attempt);
    return stepOnce(this.#attempt, this.#services, this.#recorded, name, work);
  }

  /**
   * Says how far the work has come, for people: 0 <= current <= total; of the message 512 bytes are kept. Need not be
   * awaited: what goes wrong then is not heard of.
   */
  progress(current: number, total: number, message = ""): Promise<void> {
    const written = this.#progress(current, total, message);
    // A rejection that nobody handles would end the process, and with it every other job.
    written.catch(() => undefined);
    return written;
  }

  /** Writes something to be read while the job still runs; each call replaces the last. At most 32 MiB as JSON. */
  async output(value: unknown): Promise<void> {
    const output = { schemaVersion: 1, bytes: jsonCodec.encode(value) };
    await this.#write(() => this.#services.store.writeJobOutput(this.#attempt.claim, output));
  }

  /** Ends the attempt: run again after `delay` (> 0). No attempt is spent. */
  snooze(delay: Duration): Ending {
    const delayMs = milliseconds(delay, "delay");
    if (delayMs < 1) throw new RangeError("a snooze needs a delay of at least 1 ms");
    return this.#end({ type: "snooze", delayMs });
  }

  /** Ends the attempt: not to be done, now or later. The job is archived with the reason. */
  skip(reason?: string): Ending {
    return this.#end({ type: "skip", ...(reason !== undefined && { error: storable(reason) }) });
  }

  /** Ends the attempt: the job is deleted without a trace. */
  revoke(): Ending {
    return this.#end({ type: "revoke" });
  }

  /**
   * Ends the attempt: the job goes back to its place, to be claimed by whoever comes first. No attempt is spent. At once,
   * but from the second time in a row on this worker holds it for as long as between empty polls.
   */
  release(): Ending {
    return this.#end({ type: "rate_limited", byHandler: true });
  }

  /**
   * Ends the attempt because a service said "not now": the rate classes of the job are paused for `delay` in the whole
   * fleet and the job keeps its place. One without a rate class is snoozed. No attempt is spent.
   */
  rateLimited(delay: Duration): Promise<Ending> {
    const ending = this.#rateLimited(delay);
    // It may be thrown without being awaited; the runner waits for it then.
    ending.catch(() => undefined);
    return (this.#attempt.ending = ending);
  }

  async #rateLimited(delay: Duration): Promise<Ending> {
    const delayMs = milliseconds(delay, "delay");
    const classes = this.#attempt.claim.rateClasses ?? [];
    if (classes.length === 0) return this.snooze(Math.max(1, delayMs));
    for (const name of classes) await this.#services.store.deferRateClass(name, delayMs);
    return this.#end({ type: "rate_limited" });
  }

  /** Makes sure that the lease lasts for `duration` from now, or longer, for work that blocks the event loop. */
  async extendLease(duration: Duration): Promise<void> {
    const asked = milliseconds(duration, "duration");
    mustHold(this.#attempt);
    const sentAt = monotonicMs();
    const leaseMs = Math.ceil(Math.max(asked, this.#attempt.leaseEndsAt - sentAt));
    const lost = await this.#services.store.renew([this.#attempt.claim], leaseMs);
    if (lost.length > 0) return this.#services.lose(this.#attempt);
    this.#attempt.leaseEndsAt = Math.max(this.#attempt.leaseEndsAt, sentAt + leaseMs);
  }

  /** What the attempt has really cost of its rate classes; 0: nothing. Settled with the attempt. */
  actualWeight(weight: number): void {
    if (!Number.isInteger(weight) || weight < 0)
      throw new RangeError(`a weight is a whole number >= 0, not ${weight}`);
    this.#attempt.actualWeight = weight;
  }

  /** @internal Called when the handler has returned. */
  finish(): void {
    this.#steps?.finish();
  }

  get #recorded(): Steps {
    return (this.#steps ??= this.#makeSteps());
  }

  #makeSteps(): Steps {
    const { claim } = this.#attempt;
    return new Steps(claim.id, claim.checkpoint, claim.cursor, (checkpoint) =>
      this.#write(() => this.#services.store.checkpoint(claim, checkpoint)),
    );
  }

  async #progress(current: number, total: number, message: string): Promise<void> {
    const progress = { current, total, message: cutBytes(storable(message), 512) };
    await this.#write(() => this.#services.store.writeJobProgress(this.#attempt.claim, progress));
  }

  #write<T>(write: () => Promise<T>): Promise<T> {
    return asHolder(this.#attempt, this.#services.lose, write);
  }

  #end(outcome: Outcome): Ending {
    this.#attempt.wish = outcome;
    return new Ending(outcome);
  }
}
