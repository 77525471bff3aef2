export type Headers = Readonly<Record<string, string>>;

/** Where a trace goes on: W3C trace context and baggage. */
const traceNames: readonly string[] = ["traceparent", "tracestate", "baggage"];

/** As many as a job may have. */
const most = 128;

/** Those of a job that its own jobs take over. */
export function traceHeaders(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => traceNames.includes(name)));
}

/**
 * A job's own headers and what it inherits. Its own win, and with a traceparent of its own it belongs to another trace;
 * where both are too many for a job, it inherits nothing.
 */
export function inheritHeaders(own: Headers | undefined, inherited: Headers): Headers {
  const rest =
    own?.["traceparent"] === undefined
      ? inherited
      : Object.fromEntries(Object.entries(inherited).filter(([name]) => !traceNames.includes(name)));
  const both = { ...rest, ...own };
  return Object.keys(both).length > most ? (own ?? {}) : both;
}
