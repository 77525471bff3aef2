export { Worker, type StopOptions, type WorkerStatus } from "./worker.js";
export type { WorkerOptions } from "./options.js";
export { JobContext } from "./context.js";
export type { JobRef, StopReason, WorkerEvents } from "./events.js";
export { jsonLogger, type LogFields, type Logger, type LogLevel } from "./logger.js";
export type { WorkerMiddleware } from "./runner.js";
export { describeError } from "./describe-error.js";
export {
  AttemptTimeoutError,
  CheckpointStaleError,
  DeadlineError,
  Ending,
  LeaseLostError,
  UndecodableError,
  WorkerStoppingError,
  type Outcome,
} from "./outcome.js";
