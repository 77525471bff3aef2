import { Caller } from "./caller.js";

/** A token bucket of the whole fleet. */
export interface RateClassConfig {
  readonly name: string;
  /** Tokens that come in each window; 0 lets nothing through. */
  readonly limitPerWindow: number;
  /** @defaultValue 1000 */
  readonly windowMs?: number;
  /** The most that is taken at once. @defaultValue limitPerWindow, at least 1 */
  readonly burst?: number;
  /** @defaultValue false */
  readonly paused?: boolean;
}

export interface RateClassState extends Required<RateClassConfig> {
  /** What is there now; below zero after an overdraft. */
  readonly tokens: number;
  readonly deferredUntilMs: number | null;
  /** When the next whole token is there; null while the class is paused or closed. */
  readonly nextTokenMs: number | null;
  /** Jobs in its lines, at most 1000 counted. */
  readonly waiting: number;
}

/** What happens to a job that comes to a full ceiling: it waits, is archived, is cancelled, or displaces the oldest. */
export type OnSaturated = "queue" | "discard" | "cancel_incoming" | "cancel_running";

export interface ConcurrencyLimitConfig {
  readonly name: string;
  readonly queue: string;
  /** Jobs of each partition that may run at once. */
  readonly maxConcurrent: number;
  /** @defaultValue "queue" */
  readonly onSaturated?: OnSaturated;
}

export interface ConcurrencyLimitState extends Required<ConcurrencyLimitConfig> {
  /** Jobs that run now in all partitions of the queue. */
  readonly running: number;
}

/** Why the gate holds a job back. */
export type HeldBack = "paused" | "quarantine" | "deadline" | "rate_class" | "concurrency_limit";

export interface PartitionState {
  readonly partitionKey: string;
  /** At most 1000 counted. */
  readonly waiting: number;
  /** Counted where the queue has a ceiling. */
  readonly running: number;
  readonly deficit: number;
  readonly servedAtMs: number;
  /** What holds back the first in line. */
  readonly heldBack: HeldBack | null;
}

export interface QuarantineEntry {
  readonly fingerprint: string;
  readonly kind: string;
  readonly crashCount: number;
  readonly quarantinedAtMs: number;
  /** Jobs parked under it, at most 1000 counted. */
  readonly jobs: number;
  readonly reason: string;
  readonly samplePayload: Buffer | null;
}

export interface AdmissionExplanation {
  readonly state: string;
  /** Nothing but its place in line stands before it, or it runs. */
  readonly admissible: boolean;
  readonly reason: string | null;
  readonly detail: Record<string, unknown>;
  /** 1 is the head; at most 1000 counted. */
  readonly positionInLine: number | null;
  /** When the reason will have passed, where that can be told. */
  readonly etaMs: number | null;
}

/** What the gate goes by, and what it says of itself. */
export abstract class GatePolicyRoom extends Caller {
  /** Sets a rate class; a new one starts full. */
  async upsertRateClass(config: RateClassConfig): Promise<void> {
    await this.call("upsert_rate_class", {
      name: config.name,
      limit_per_window: config.limitPerWindow,
      window_ms: config.windowMs,
      burst: config.burst,
      paused: config.paused,
    });
  }

  /**
   * Jobs that name it are limited by it no more.
   *
   * @throws StoreError `not_found`
   */
  async deleteRateClass(name: string): Promise<void> {
    await this.call("delete_rate_class", { name });
  }

  async rateClasses(): Promise<RateClassState[]> {
    return this.call("rate_classes");
  }

  /**
   * Limits what runs at once in each partition of a queue, what runs already included.
   *
   * @throws StoreError `invalid`, also where the queue has a ceiling of another name.
   */
  async upsertConcurrencyLimit(config: ConcurrencyLimitConfig): Promise<void> {
    await this.call("upsert_concurrency_limit", {
      name: config.name,
      queue: config.queue,
      max_concurrent: config.maxConcurrent,
      on_saturated: config.onSaturated,
    });
  }

  /** @throws StoreError `not_found` */
  async deleteConcurrencyLimit(name: string): Promise<void> {
    await this.call("delete_concurrency_limit", { name });
  }

  async concurrencyLimits(): Promise<ConcurrencyLimitState[]> {
    return this.call("concurrency_limits");
  }

  /** A page of the partitions of a queue that had work lately, by name; go on with `after` the last one seen. */
  async partitions(queue: string, after: string | null = null, maxRows = 200): Promise<PartitionState[]> {
    return this.call("partitions", { queue, after, max_rows: maxRows });
  }

  /** Contents that took their workers down, newest first; go on with `beforeMs` the last one's instant. */
  async quarantineList(beforeMs: number | null = null, maxRows = 200): Promise<QuarantineEntry[]> {
    return this.call("quarantine_list", { before_ms: beforeMs, max_rows: maxRows });
  }

  /**
   * Accepts a content again and makes its parked jobs available. Answers with how many; a job whose unique key was taken
   * meanwhile stays.
   *
   * @throws StoreError `not_found`
   */
  async quarantineRelease(fingerprint: string): Promise<number> {
    return this.value("quarantine_release", { fingerprint });
  }

  /** Why a job is not running, by the rules of the gate; null where there is no such job. */
  async explainAdmission(id: string): Promise<AdmissionExplanation | null> {
    return this.first("explain_admission", { id });
  }
}
