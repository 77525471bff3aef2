import type { JobState } from "./job.js";

export interface QueueStats {
  readonly queue: string;
  /** Unfinished jobs, exactly. */
  readonly depth: number;
  readonly maxUnfinishedJobs: number | null;
  readonly paused: boolean;
  readonly weight: number;
  /** Counted up to a cap. */
  readonly byState: Readonly<Partial<Record<JobState, number>>>;
  /** A cap was reached. */
  readonly approximate: boolean;
  /** Jobs per second over the last one to two minutes. */
  readonly arrivalPerS: number;
  readonly drainPerS: number;
  /** Null while it does not shrink. */
  readonly timeToDrainMs: number | null;
  /** How long the job that could run has waited longest; null where none could. */
  readonly oldestAvailableMs: number | null;
  /** Partitions with at most 10 jobs in line; null where there are too many partitions to tell. */
  readonly quietPartitions: number | null;
  /** The same wait, of those only. */
  readonly quietOldestMs: number | null;
  /** An estimate from the last sample. */
  readonly memoryBytes: number | null;
  readonly sampledJobs: number | null;
  readonly sampledAtMs: number | null;
}

export interface HistoryBucket {
  readonly bucketStartMs: number;
  readonly arrived: number;
  readonly completed: number;
  /** Attempts. */
  readonly failed: number;
  /** Jobs that left the unfinished ones, less those that came back. */
  readonly drained: number;
  /** What the gate held back, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** In the last bucket, where newer ones were left out: the `sinceMs` to go on with. */
  readonly nextMs: number | null;
}

export interface Metric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface IndexHealth {
  readonly name: string;
  readonly tableName: string;
  readonly bytes: number;
  readonly scans: number;
  readonly liveRows: number;
  readonly deadRows: number;
  readonly valid: boolean;
  /** What a cancelled rebuild left behind. */
  readonly leftover: boolean;
}
