export * from "./migrate/index.js";
export * from "./store/index.js";
export * from "./client/index.js";
export * from "./worker/index.js";
export {
  task,
  type BatchHandler,
  type Handler,
  type InputOf,
  type Task,
  type TaskMap,
  type TaskOptions,
} from "./tasks/task.js";
export { jsonCodec, type Codec } from "./tasks/codec.js";
export { ValidationError, type StandardSchema } from "./tasks/standard-schema.js";
export { milliseconds, type Duration } from "./duration.js";
export * from "./backend/index.js";
