export {
  Client,
  JobFailedError,
  type ClientMiddleware,
  type ClientOptions,
  type EnqueueOptions,
  type WaitOptions,
} from "./client.js";
