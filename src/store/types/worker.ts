/** What a worker says of itself. */
export interface WorkerMeta {
  readonly workerId: string;
  /** Differs from start to start: commands are for one of them. */
  readonly incarnation?: string;
  readonly host?: string;
  readonly pid?: number;
  readonly queues?: readonly string[];
  readonly concurrency?: number;
  readonly inflight?: number;
  readonly polls?: number;
  readonly emptyPolls?: number;
  readonly status?: string;
  readonly dutiesActive?: boolean;
}

export type WorkerCommand = "quiet" | "resume" | "restart" | "terminate" | "resign";

/** A worker as the others see it. */
export interface WorkerInfo extends Required<WorkerMeta> {
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Waits to be taken with the next heartbeat. */
  readonly command: WorkerCommand | null;
  readonly lastCommand: WorkerCommand | null;
  readonly lastCommandAtMs: number | null;
}
