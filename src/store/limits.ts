import { Caller } from "./caller.js";
import { checkBoolean, checked, checkText, checkWhole } from "./text.js";
import type {
  ConcurrencyLimit,
  ConcurrencyLimitState,
  PartitionState,
  QuarantineEntry,
  RateClass,
  RateClassState,
} from "./types.js";

/** What the gate holds jobs back for: rate classes, ceilings, quarantine. All of it is the fleet's, not a worker's. */
export abstract class LimitsRoom extends Caller {
  /** Sets a rate class; a new one starts full. */
  async upsertRateClass(rateClass: RateClass): Promise<void> {
    await this.call("upsert_rate_class", {
      ...checked(checkText, { name: rateClass.name }),
      ...checked(checkWhole, {
        limit_per_window: rateClass.limitPerWindow,
        window_ms: rateClass.windowMs,
        burst: rateClass.burst,
      }),
      ...checked(checkBoolean, { paused: rateClass.paused }),
    });
  }

  /** Jobs that name it are limited by it no more. */
  async deleteRateClass(name: string): Promise<void> {
    await this.call("delete_rate_class", { name });
  }

  async rateClasses(): Promise<RateClassState[]> {
    return this.call("rate_classes");
  }

  /** Limits how many jobs of each partition of a queue run at once; a queue has one such limit at most. */
  async upsertConcurrencyLimit(limit: ConcurrencyLimit): Promise<void> {
    await this.call("upsert_concurrency_limit", {
      ...checked(checkText, { name: limit.name, queue: limit.queue, on_saturated: limit.onSaturated }),
      ...checked(checkWhole, { max_concurrent: limit.maxConcurrent }),
    });
  }

  async deleteConcurrencyLimit(name: string): Promise<void> {
    await this.call("delete_concurrency_limit", { name });
  }

  async concurrencyLimits(): Promise<ConcurrencyLimitState[]> {
    return this.call("concurrency_limits");
  }

  /** The partitions of a queue that have had work lately, by key; the next page goes on `after` the last key. */
  async partitions(queue: string, after?: string, maxRows?: number): Promise<PartitionState[]> {
    return this.call("partitions", { queue, after, max_rows: maxRows });
  }

  /** Contents that are quarantined, newest first; the next page goes on before the last one's instant. */
  async quarantineList(beforeMs?: number, maxRows?: number): Promise<QuarantineEntry[]> {
    return this.call("quarantine_list", { before_ms: beforeMs, max_rows: maxRows });
  }

  /** Accepts a quarantined content again and answers how many parked jobs became available. */
  async quarantineRelease(fingerprint: string): Promise<number> {
    return Number(await this.value("quarantine_release", { fingerprint }));
  }
}
