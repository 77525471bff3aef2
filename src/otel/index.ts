import type { ClientMiddleware } from "../client/index.js";
import { Worker } from "../worker/index.js";
import { api } from "./api.js";
import { enqueueMiddleware } from "./enqueue.js";
import { countWorker } from "./figures.js";
import { telemetry, type InstrumentOptions } from "./options.js";
import { traceWorker } from "./process.js";

export type { InstrumentOptions } from "./options.js";

/** A client, whatever its tasks. */
export interface InstrumentableClient {
  wrap(middleware: ClientMiddleware): unknown;
}

const instrumented = new WeakSet<object>();

/**
 * Traces and counts what a client or a worker does, through `@opentelemetry/api`; answers with the same object. The client
 * of a worker's handlers is instrumented with it. Where that package is not installed, or the application has set up no
 * SDK, nothing happens. A second call for the same object does nothing.
 */
export function instrument<Target extends InstrumentableClient | Worker>(
  target: Target,
  options: InstrumentOptions = {},
): Target {
  if (!api || instrumented.has(target)) return target;
  instrumented.add(target);
  const means = telemetry(api, options);
  const either: InstrumentableClient | Worker = target;
  if (either instanceof Worker) {
    traceWorker(either, means);
    countWorker(either, means);
    instrument(either.client, options);
  } else either.wrap(enqueueMiddleware(means));
  return target;
}
