import { SafeEmitter } from "../events.js";
import type { Outcome } from "./outcome.js";

/** The job that an event is about. */
export interface JobRef {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly partitionKey: string;
  readonly attempt: number;
  readonly crashAttempt: number;
  /** Tells two claims of one job apart. */
  readonly fence: bigint;
}

/** The fields of every log line about a job. */
export const jobFields = ({ id, kind, queue, attempt }: JobRef): Readonly<Record<string, unknown>> => ({
  jobId: id,
  kind,
  queue,
  attempt,
});

/** Each event of a worker, with what its listener gets. */
export interface WorkerEvents {
  "worker:started": [{ workerId: string }];
  /** The first admission was answered: the worker is ready. */
  "worker:ready": [{ workerId: string }];
  "worker:stopped": [{ workerId: string; reason: StopReason }];
  "worker:command": [{ workerId: string; command: string }];
  /** The store can't be reached (false), or can again (true); once per change. */
  /** Jobs of these kinds wait in its queues, and it has no task for them; asked once, behind the first admission. */
  "worker:unhandled": [{ workerId: string; kinds: readonly string[] }];
  /** The gate was asked for `capacity` jobs and gave `claimed`; it held others back, by reason. */
  "worker:admission": [
    {
      workerId: string;
      capacity: number;
      claimed: number;
      refused: Readonly<Record<string, number>>;
      durationMs: number;
    },
  ];
  "store:available": [{ available: boolean; error?: unknown }];
  /** The handler is about to be called. One of settled, lost and uncertain follows. `waitedMs`: since it could have run. */
  "job:started": [{ job: JobRef; headers: Readonly<Record<string, string>>; waitedMs: number }];
  /** The attempt has ended and that is durable. A job that was put off or handed back may not have been started. */
  "job:settled": [
    { job: JobRef; outcome: Outcome["type"]; state: string; durationMs: number; error?: string },
  ];
  /** It will not run again: archived or undecodable. */
  "job:dead": [{ job: JobRef; state: string; error?: string }];
  /** The lease is somebody else's, or the job was cancelled: the handler has been told to stop, and nothing is acked. */
  "job:lost": [{ job: JobRef; error?: string }];
  /** The answer to the attempt's end was lost, and its lease is over: the end may have counted. */
  "job:uncertain": [{ job: JobRef }];
  /** The handler ignores that it should stop; its slot is free again and its lease will lapse. */
  "job:stuck": [{ job: JobRef; runningMs: number; reason: string }];
  /** No task of this worker has the kind; the job goes back for other workers. */
  "job:unknown": [{ job: JobRef }];
  "duty:failed": [{ duty: string; error: string }];
}

export type StopReason = "stop" | "terminate" | "restart" | "memory" | "fault";

export class WorkerEmitter extends SafeEmitter<WorkerEvents> {}
