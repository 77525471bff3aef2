export {
  testQueue,
  TestQueue,
  type DrainOptions,
  type NewJob,
  type RunJobOptions,
  type RunOptions,
  type TestQueueOptions,
  type TestWorkOptions,
} from "./test-queue.js";
export type { JobRun, WorkSettings } from "./hands.js";
export type { EnqueuedJob, EnqueuedOptions, JobMatch, KindMatch } from "./enqueued.js";
export type { Partially } from "./match.js";
export { dropTestSchemas, type Where } from "./schemas.js";
