import type { MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { Api } from "./api.js";

export interface InstrumentOptions {
  /** @defaultValue the global one */
  readonly tracerProvider?: TracerProvider;
  /** @defaultValue the global one */
  readonly meterProvider?: MeterProvider;
  /** How a trace gets into a job's headers, and out of them. @defaultValue the global one: `traceparent`, `tracestate` */
  readonly propagator?: TextMapPropagator<unknown>;
  /** true: an attempt belongs to the trace of its producer. false: it begins one of its own, with a link. @defaultValue false */
  readonly continueTrace?: boolean;
}

/** OpenTelemetry as the parts of this package use it. */
export interface Telemetry {
  readonly api: Api;
  readonly tracer: ReturnType<TracerProvider["getTracer"]>;
  readonly meter: ReturnType<MeterProvider["getMeter"]>;
  readonly propagator: Pick<TextMapPropagator<unknown>, "inject" | "extract">;
  readonly continueTrace: boolean;
}

const name = "headrace";

export function telemetry(api: Api, options: InstrumentOptions): Telemetry {
  const { tracerProvider = api.trace, meterProvider = api.metrics, continueTrace = false } = options;
  const { propagator } = options;
  return {
    api,
    tracer: tracerProvider.getTracer(name),
    meter: meterProvider.getMeter(name),
    propagator: propagator ?? {
      inject: (context, carrier, setter) => api.propagation.inject(context, carrier, setter),
      extract: (context, carrier, getter) => api.propagation.extract(context, carrier, getter),
    },
    continueTrace,
  };
}

/** Bounds of histograms of times, in seconds. */
export const secondsBounds = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
];

/** Lets so many values of an attribute through; kinds and queues may be made up at run time. */
export function bounded(most = 200): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return "other";
    known.add(value);
    return value;
  };
}

/** What went wrong, in a word of few. */
export function errorType(error: unknown): string {
  const { code, name: type } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
  };
  if (type === "StoreError" && typeof code === "string") return code;
  return typeof type === "string" && type !== "" ? type.slice(0, 64) : typeof error;
}
