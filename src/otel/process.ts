import type { Context, Link, Span } from "@opentelemetry/api";
import type { JobRef, Worker, WorkerMiddleware } from "../worker/index.js";
import { messageOf } from "./enqueue.js";
import { errorType, type Telemetry } from "./options.js";

interface Open {
  readonly span: Span;
  readonly context: Context;
  /** When the handler ended; what comes after is the worker's. */
  endedAt?: number;
  error?: unknown;
}

const bad: readonly string[] = ["retry", "undecodable", "checkpoint_stale"];

/** A span for each attempt: the handler runs within it, and it ends when the attempt's end is durable. */
export function traceWorker(worker: Worker, telemetry: Telemetry): void {
  const { api } = telemetry;
  const open = new Map<string, Open>();

  worker.on("job:started", ({ job, headers }) => {
    open.set(keyOf(job), begin(telemetry, worker.workerId, job, headers));
  });
  worker.wrap(within(telemetry, open));

  const end = (job: JobRef, outcome: string, conclude: (one: Open) => void): void => {
    const one = open.get(keyOf(job));
    if (!one) return;
    open.delete(keyOf(job));
    one.span.setAttribute("headrace.job.outcome", outcome);
    conclude(one);
    one.span.end(one.endedAt);
  };
  worker.on("job:settled", ({ job, outcome, state, error }) =>
    end(job, outcome, (one) => {
      one.span.setAttribute("headrace.job.state", state);
      if (bad.includes(outcome)) fail(telemetry, one, error ?? outcome);
    }),
  );
  worker.on("job:lost", ({ job, error }) =>
    end(job, "lost", ({ span }) => {
      span.setAttribute("error.type", "lease_lost");
      const message = error ?? "the lease is lost; what the handler did after that does not count";
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(message) });
    }),
  );
  worker.on("job:uncertain", ({ job }) => end(job, "uncertain", () => undefined));
  worker.on("worker:stopped", () => {
    for (const { span } of open.values()) span.end();
    open.clear();
  });
}

function begin(
  { api, tracer, propagator, continueTrace }: Telemetry,
  workerId: string,
  job: JobRef,
  headers: Readonly<Record<string, string>>,
): Open {
  // What is active where the worker was started has nothing to do with its jobs.
  const remote = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
  const producer = api.trace.getSpanContext(remote);
  const links: Link[] = producer && !continueTrace ? [{ context: producer }] : [];
  const parent = continueTrace ? remote : api.trace.deleteSpan(remote);
  const span = tracer.startSpan(
    `process ${job.queue}`,
    {
      kind: api.SpanKind.CONSUMER,
      links,
      startTime: now(),
      attributes: {
        "messaging.system": "headrace",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": job.queue,
        "messaging.message.id": job.id,
        "messaging.client.id": workerId,
        "headrace.job.kind": job.kind,
        "headrace.job.attempt": job.attempt,
        "headrace.job.crash_attempt": job.crashAttempt,
        ...(job.partitionKey !== "" && { "messaging.destination.partition.id": job.partitionKey }),
      },
    },
    parent,
  );
  return { span, context: api.trace.setSpan(parent, span) };
}

function within({ api }: Telemetry, open: ReadonlyMap<string, Open>): WorkerMiddleware {
  return (job, next) => {
    const one = open.get(keyOf(job));
    if (!one) return next();
    return api.context.with(one.context, async () => {
      delete one.error;
      try {
        return await next();
      } catch (error) {
        one.error = error;
        throw error;
      } finally {
        one.endedAt = now();
      }
    });
  };
}

/** @param text what the attempt's history says. */
function fail({ api }: Telemetry, { span, error }: Open, text: string): void {
  const [firstLine = ""] = text.split("\n");
  span.setAttribute("error.type", error === undefined ? "_OTHER" : errorType(error));
  span.recordException(error instanceof Error ? error : { name: "Error", message: messageOf(firstLine) });
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(firstLine) });
}

const keyOf = ({ id, fence }: { readonly id: string; readonly fence: bigint }): string => `${fence} ${id}`;

/** Start and end of a span by one clock, in ms since the epoch. */
const now = (): number => performance.timeOrigin + performance.now();
