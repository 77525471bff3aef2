export {
  Client,
  type ClientMiddleware,
  type ClientOptions,
  type KindOf,
  type ClientJob,
  type WaitedFor,
  type WaitOptions,
} from "./client.js";
export type { CallOptions as ClientCallOptions, EnqueueOptions } from "./options.js";
