export {
  PostgresQueueBackend,
  type ClaimOptions,
  type ConnectBackendOptions,
  type QueueBackendOptions,
} from "./queue-backend.js";
export type * from "./types.js";
export { TaskRuntime, type EnqueueTaskOptions, type TaskRuntimeOptions } from "./task-runtime.js";
