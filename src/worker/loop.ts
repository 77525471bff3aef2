import { setImmediate as nextTurn } from "node:timers/promises";
import type { Abort } from "./abort.js";
import type { Availability } from "./availability.js";
import type { AdmitAnswer, Claim } from "../store/index.js";
import { firstOf, jittered, monotonicMs, Notice, pause } from "./timing.js";

export interface LoopOptions {
  readonly admit: (capacity: number) => Promise<AdmitAnswer>;
  /** Push wake-ups; undefined: poll only. */
  readonly wakeups:
    | {
        declareSleep(forMs: number): Promise<void>;
        /** Resolves with the queue that has work, or null after `timeoutMs`. */
        wait(timeoutMs: number, over: Abort): Promise<string | null>;
      }
    | undefined;
  /** How many jobs may be claimed now. */
  readonly freeSlots: () => number;
  /** Told whenever `freeSlots` may have risen. */
  readonly slotFreed: Notice;
  /** Told once, when the first admission has been answered. */
  readonly ready: () => void;
  /** Told of each admission that was answered. */
  readonly admitted: (admission: {
    readonly capacity: number;
    readonly claimed: number;
    readonly refused: Readonly<Record<string, number>>;
    readonly durationMs: number;
  }) => void;
  readonly accept: (claims: readonly Claim[], received: Received) => void;
  readonly availability: Availability;
  readonly leaseMs: number;
  /** The wait between two empty polls: doubled from `min` to `max`, in ms. */
  readonly poll: { readonly min: number; readonly max: number };
  readonly failed: (error: unknown) => void;
}

/** When claims came: leases end, and the store's clock stood, at these points of the monotonic clock. */
export interface Received {
  readonly leaseEndsAt: number;
  readonly at: number;
  readonly storeNowMs: number;
}

/** How long a declaration of sleep is to hold; the worker polls more often than that. */
const sleepMs = 30_000;
/** Waits after failed admissions, in ms. */
const outage = { min: 250, max: 5000 };

/**
 * Claims jobs as slots become free, and sleeps while there is nothing to do: until the next job falls due, a wake-up, or
 * the next poll.
 */
export class ClaimLoop {
  readonly #options: LoopOptions;
  readonly #changed = new Notice();
  readonly #ended: Promise<void>;
  #stopping = false;
  #quiet = false;
  #ready = false;
  #polls = 0;
  #emptyPolls = 0;
  /** Until when the store knows that this worker sleeps, by the monotonic clock. */
  #declaredUntil = 0;
  /** Wake-ups in a row that brought nothing: somebody else was faster. The first behind a claim may be of what it claimed. */
  #fruitless = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#ended = this.#run();
  }

  get polls(): number {
    return this.#polls;
  }
  get emptyPolls(): number {
    return this.#emptyPolls;
  }
  /** An admission has been answered. */
  get ready(): boolean {
    return this.#ready;
  }
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Quiet: nothing new is claimed, what is held goes on. */
  set quiet(quiet: boolean) {
    this.#quiet = quiet;
    this.#changed.notify();
  }
  get quiet(): boolean {
    return this.#quiet;
  }

  /** Resolves when nothing more will be claimed; claims that were on their way have been accepted by then. */
  stop(): Promise<void> {
    this.#stopping = true;
    this.#changed.notify();
    return this.#ended;
  }

  async #run(): Promise<void> {
    const { freeSlots, slotFreed, availability, poll } = this.#options;
    let delay = poll.min;
    let outageDelay = outage.min;
    while (!this.#stopping) {
      const free = this.#quiet ? 0 : freeSlots();
      if (free <= 0) {
        await firstOf(
          (over) => slotFreed.next(over),
          (over) => this.#changed.next(over),
        );
        // Jobs that end in the same turn free their slots together.
        await nextTurn();
        continue;
      }
      let round: Round;
      try {
        round = await this.#claim(free);
        outageDelay = outage.min;
      } catch (error) {
        availability.failed(error);
        this.#options.failed(error);
        this.#declaredUntil = 0;
        // Another call may be the first to find the store again.
        await this.#idle(jittered(outageDelay), availability.changed);
        outageDelay = Math.min(outageDelay * 2, outage.max);
        continue;
      }
      if (round.claimed > 0) delay = poll.min;
      if (!round.drained) continue;
      await this.#sleep(Math.min(round.dueMs, jittered(delay)));
      delay = Math.min(delay * 2, poll.max);
    }
  }

  /**
   * One admission, and where it left slots free a second one behind the declaration that this worker will sleep. While a
   * declaration stands one is enough: what comes behind it is notified.
   */
  async #claim(free: number): Promise<Round> {
    const { wakeups } = this.#options;
    const first = await this.#admit(free);
    const claimed = first.length;
    const round = { claimed, drained: claimed === 0, dueMs: this.#dueMs(first) };
    if (!wakeups || claimed >= free || this.#stopping || this.#quiet) return round;
    if (this.#declaredUntil > monotonicMs() + sleepMs / 2) return round;
    await wakeups.declareSleep(sleepMs);
    this.#declaredUntil = monotonicMs() + sleepMs;
    const rest = this.#options.freeSlots();
    if (rest <= 0 || this.#stopping || this.#quiet) return { ...round, drained: false };
    const second = await this.#admit(rest);
    return {
      claimed: claimed + second.length,
      drained: second.length === 0,
      dueMs: this.#dueMs(second),
    };
  }

  async #admit(capacity: number): Promise<AdmitAnswer> {
    const { admit, accept, leaseMs, availability } = this.#options;
    const sentAt = monotonicMs();
    const admission = await admit(capacity);
    this.#polls++;
    if (!this.#ready) {
      this.#ready = true;
      this.#options.ready();
    }
    availability.succeeded();
    this.#options.admitted({
      capacity,
      claimed: admission.length,
      refused: admission.refused,
      durationMs: monotonicMs() - sentAt,
    });
    if (!admission.asleep) this.#declaredUntil = 0;
    if (admission.length > 0) {
      this.#fruitless = -1;
      accept(admission, {
        leaseEndsAt: sentAt + leaseMs,
        at: monotonicMs(),
        storeNowMs: admission.storeNowMs,
      });
    } else {
      this.#emptyPolls++;
    }
    return admission;
  }

  /** How long until the next job falls due; the store has said both instants, so no clock of this machine is asked. */
  #dueMs({ nextDueMs, storeNowMs }: AdmitAnswer): number {
    if (nextDueMs === null) return Infinity;
    const dueMs = nextDueMs - storeNowMs;
    // What fell due during the admission is there at the next one.
    return dueMs > 0 ? dueMs + 1 : this.#options.poll.min;
  }

  async #sleep(delayMs: number): Promise<void> {
    const { wakeups, failed } = this.#options;
    if (!wakeups || this.#stopping) return this.#idle(delayMs);
    let woken = false;
    await firstOf(
      async (over) => {
        try {
          woken = (await wakeups.wait(delayMs, over)) !== null;
        } catch (error) {
          failed(error);
          await pause(delayMs, over);
        }
      },
      (over) => this.#changed.next(over),
    );
    // In a fleet every sleeper hears of one job: those who came too late spread out.
    if (!woken) return;
    const late = this.#fruitless++;
    if (late > 0) await this.#idle(Math.random() * Math.min(100, 10 * late));
  }

  async #idle(delayMs: number, ...notices: readonly Notice[]): Promise<void> {
    if (this.#stopping) return;
    await firstOf(
      (over) => pause(delayMs, over),
      ...[this.#changed, ...notices].map((notice) => (over: Abort) => notice.next(over)),
    );
  }
}

interface Round {
  readonly claimed: number;
  /** The last admission brought nothing. */
  readonly drained: boolean;
  /** Infinity: nothing waits for a time. */
  readonly dueMs: number;
}
