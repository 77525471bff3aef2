/** What a role may be given; see docs/operations.md. */
export type AccessDuty = "producer" | "worker" | "scheduler" | "operator" | "reader" | "reader_payload";

export type HistoryPolicy = "failures" | "all" | "none";

export interface RateClass {
  readonly name: string;
  /** Tokens each window; a job takes its weight. 0 lets nothing through. */
  readonly limitPerWindow: number;
  /** @defaultValue 1000 */
  readonly windowMs?: number;
  /** Tokens that can be saved up. @defaultValue the limit */
  readonly burst?: number;
  /** @defaultValue false */
  readonly paused?: boolean;
}

export interface RateClassState extends Required<RateClass> {
  readonly tokens: number;
  /** Set by `deferRateClass`: nothing passes before it. */
  readonly deferredUntilMs: number | null;
  readonly nextTokenMs: number | null;
  /** Jobs in its lines, counted up to 1000. */
  readonly waiting: number;
}

export interface ConcurrencyLimit {
  readonly name: string;
  readonly queue: string;
  /** For each partition. */
  readonly maxConcurrent: number;
  /** What happens to the next job. @defaultValue "queue": it waits */
  readonly onSaturated?: "queue" | "discard" | "cancel_incoming" | "cancel_running";
}

export interface ConcurrencyLimitState extends Required<ConcurrencyLimit> {
  readonly running: number;
}

export interface PartitionState {
  readonly partitionKey: string;
  /** Counted up to 1000. */
  readonly waiting: number;
  /** Where the queue has a ceiling. */
  readonly running: number | null;
  /** What a turn that was cut short is still owed. */
  readonly deficit: number;
  readonly servedAtMs: number | null;
  /** Why the first in line does not run; null where nothing but its turn stands before it. */
  readonly heldBack: string | null;
}

export interface QuarantineEntry {
  readonly fingerprint: string;
  readonly kind: string;
  /** Workers that it took down. */
  readonly crashCount: number;
  readonly quarantinedAtMs: number;
  /** Parked, counted up to 1000. */
  readonly jobs: number;
  readonly reason: string | null;
  readonly samplePayload: Buffer | null;
}
