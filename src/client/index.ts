export {
  Client,
  type ClientJob,
  type ClientScope,
  type KindOf,
  type WaitedFor,
  type WaitOptions,
} from "./client.js";
export type { CircuitBreakerOptions, CircuitState, CircuitStatus } from "./circuit.js";
export type { ClientCall, ClientMiddleware, ClientOptions } from "./core.js";
export type { ClientEvents, EnqueueRequest } from "./events.js";
export type { CallOptions as ClientCallOptions, EnqueueOptions } from "./options.js";
