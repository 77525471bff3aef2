import type { Attributes, Context } from "@opentelemetry/api";
import type { ClientCall, ClientMiddleware } from "../client/index.js";
import type { Enqueued, Job } from "../store/index.js";
import { bounded, errorType, secondsBounds, type Telemetry } from "./options.js";

/** As many headers as a job may have. */
const mostHeaders = 128;

/** A span and figures for each batch; its jobs carry the span's context in their headers. */
export function enqueueMiddleware(telemetry: Telemetry): ClientMiddleware {
  const { api, tracer } = telemetry;
  const count = figures(telemetry);
  return async (batch, next, call) => {
    const began = performance.now();
    const parent = parentOf(telemetry, call);
    const queues = new Set(batch.map(queueOf));
    const [queue] = queues.size === 1 ? queues : [];
    const span = tracer.startSpan(
      queue === undefined ? "enqueue" : `enqueue ${queue}`,
      { kind: api.SpanKind.PRODUCER, attributes: describe(batch, queue) },
      parent,
    );
    const context = api.trace.setSpan(parent, span);
    try {
      const traced = withTrace(telemetry, batch, context, call);
      const enqueued = await api.context.with(context, () => next(traced));
      const [only] = enqueued.length === 1 ? enqueued : [];
      if (only) {
        span.setAttribute("messaging.message.id", only.id);
        span.setAttribute("headrace.job.disposition", only.disposition);
      }
      count.enqueued(batch, enqueued, performance.now() - began);
      return enqueued;
    } catch (error) {
      span.setAttribute("error.type", errorType(error));
      span.recordException(error instanceof Error ? error : String(error));
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(error) });
      count.failed(error, performance.now() - began);
      throw error;
    } finally {
      span.end();
    }
  };
}

/** The active span, or where there is none (the application has no context manager) the trace of the handler's own job. */
function parentOf({ api, propagator }: Telemetry, { inherited }: ClientCall): Context {
  const active = api.context.active();
  if (api.trace.getSpan(active)) return active;
  return propagator.extract(active, inherited, api.defaultTextMapGetter);
}

function withTrace(
  { api, propagator }: Telemetry,
  batch: readonly Job[],
  context: Context,
  { inherited }: ClientCall,
): readonly Job[] {
  const carrier: Record<string, string> = {};
  propagator.inject(context, carrier, api.defaultTextMapSetter);
  const names = Object.keys(carrier);
  if (names.length === 0) return batch;
  return batch.map((job) => {
    const { headers = {} } = job;
    // A trace that the caller has chosen for this job stands.
    if (names.some((name) => headers[name] !== undefined && headers[name] !== inherited[name])) return job;
    const replaced = Object.entries(headers).filter(
      ([name]) => name !== "tracestate" || headers[name] !== inherited[name],
    );
    const traced = { ...Object.fromEntries(replaced), ...carrier };
    return Object.keys(traced).length > mostHeaders ? job : { ...job, headers: traced };
  });
}

function describe(batch: readonly Job[], queue: string | undefined): Attributes {
  const kinds = new Set(batch.map(({ kind }) => kind));
  const [kind] = kinds.size === 1 ? kinds : [];
  return {
    "messaging.system": "headrace",
    "messaging.operation.name": "enqueue",
    "messaging.operation.type": "send",
    ...(queue !== undefined && { "messaging.destination.name": queue }),
    ...(kind !== undefined && { "headrace.job.kind": kind }),
    ...(batch.length !== 1 && { "messaging.batch.message_count": batch.length }),
  };
}

function figures({ meter }: Telemetry): {
  enqueued(batch: readonly Job[], enqueued: readonly Enqueued[], ms: number): void;
  failed(error: unknown, ms: number): void;
} {
  const [kinds, queues] = [bounded(), bounded()];
  const jobs = meter.createCounter("headrace.enqueue.jobs", {
    unit: "{job}",
    description: "Jobs that the store has taken, also in transactions that roll back later",
  });
  const failures = meter.createCounter("headrace.enqueue.failures", {
    unit: "{call}",
    description: "Enqueues that were refused or failed",
  });
  const duration = meter.createHistogram("headrace.enqueue.duration", {
    unit: "s",
    description: "How long an enqueue took",
    advice: { explicitBucketBoundaries: secondsBounds },
  });
  return {
    enqueued(batch, enqueued, ms) {
      batch.forEach((job, at) =>
        jobs.add(1, {
          "headrace.job.kind": kinds(job.kind),
          "messaging.destination.name": queues(queueOf(job)),
          "headrace.job.disposition": enqueued[at]?.disposition ?? "inserted",
        }),
      );
      duration.record(ms / 1000);
    },
    failed(error, ms) {
      const attributes = { "error.type": errorType(error) };
      failures.add(1, attributes);
      duration.record(ms / 1000, attributes);
    },
  };
}

const queueOf = ({ queue }: Job): string => (queue === undefined || queue === "" ? "default" : queue);

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 1000);
