import { execFile } from "node:child_process";
import { writeFile, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { StoreError } from "../../../src/index.js";
import { Client, task } from "../../../src/index.js";
import { instrument } from "../../../src/otel/index.js";
import { bounded } from "../../../src/otel/options.js";
import { inPlace, until, type Place } from "./support.js";

const otel = suite("OpenTelemetry");
const run = promisify(execFile);

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

class Reader extends MetricReader {
  protected override onForceFlush = (): Promise<void> => Promise.resolve();
  protected override onShutdown = (): Promise<void> => Promise.resolve();
}

interface Telemetry {
  readonly exporter: InMemorySpanExporter;
  readonly options: { readonly tracerProvider: BasicTracerProvider; readonly meterProvider: MeterProvider };
  span(name: string, id?: string): ReadableSpan;
  /** Value, or count of a histogram, of the point whose attributes have these. */
  point(name: string, attributes?: Record<string, unknown>): Promise<number | undefined>;
  sum(name: string): Promise<number>;
}

function telemetry(): Telemetry {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const reader = new Reader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    exporter,
    options: { tracerProvider, meterProvider },
    span(name, id) {
      const found = exporter
        .getFinishedSpans()
        .filter(
          (one) => one.name === name && (id === undefined || one.attributes["messaging.message.id"] === id),
        );
      assert.is(found.length, 1, `${found.length} spans ${name} ${id ?? ""}`);
      return found[0]!;
    },
    async point(name, attributes = {}) {
      const { resourceMetrics } = await reader.collect();
      const metric = resourceMetrics.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .find(({ descriptor }) => descriptor.name === name);
      const point = metric?.dataPoints.find((one) =>
        Object.entries(attributes).every(([key, value]) => one.attributes[key] === value),
      );
      return typeof point?.value === "object" ? (point.value as { count: number }).count : point?.value;
    },
    async sum(name) {
      const { resourceMetrics } = await reader.collect();
      const metric = resourceMetrics.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .find(({ descriptor }) => descriptor.name === name);
      return (metric?.dataPoints ?? []).reduce(
        (all, { value }) => all + (typeof value === "object" ? (value as { sum: number }).sum : value),
        0,
      );
    },
  };
}

const idsOf = (span: ReadableSpan): string => `${span.spanContext().traceId}-${span.spanContext().spanId}`;
const linksOf = (span: ReadableSpan): string[] =>
  span.links.map(({ context: to }) => `${to.traceId}-${to.spanId}`);

otel("an enqueue is a producer span, whose context the job carries", () =>
  inPlace(async ({ store }) => {
    const { options, span, point, exporter } = telemetry();
    const client = instrument(new Client(store, { defaults: { queue: "mail" } }), options);
    const tracer = options.tracerProvider.getTracer("app");
    const { id } = await tracer.startActiveSpan("request", async (request) => {
      const enqueued = await client.enqueue("welcome", { to: "ada" });
      request.end();
      return enqueued;
    });
    const enqueue = span("enqueue mail");
    const request = span("request");
    assert.is(enqueue.kind, SpanKind.PRODUCER);
    assert.is(enqueue.parentSpanContext?.spanId, request.spanContext().spanId);
    assert.equal(enqueue.attributes, {
      "messaging.system": "headrace",
      "messaging.operation.name": "enqueue",
      "messaging.operation.type": "send",
      "messaging.destination.name": "mail",
      "messaging.message.id": id,
      "headrace.job.kind": "welcome",
      "headrace.job.disposition": "inserted",
    });
    assert.is(enqueue.status.code, SpanStatusCode.UNSET);
    assert.equal((await store.getJob(id, true))!.headers, { traceparent: `00-${idsOf(enqueue)}-01` });
    const inserted = { "headrace.job.kind": "welcome", "messaging.destination.name": "mail" };
    assert.is(
      await point("headrace.enqueue.jobs", { ...inserted, "headrace.job.disposition": "inserted" }),
      1,
    );
    assert.is(await point("headrace.enqueue.duration"), 1);

    exporter.reset();
    const own = { traceparent: "00-11111111111111111111111111111111-2222222222222222-01", other: "kept" };
    const batch = await client.enqueueMany([
      { kind: "a" },
      { kind: "b", options: { queue: "other", headers: { other: "kept" } } },
      { kind: "c", options: { headers: own } },
    ]);
    const many = span("enqueue");
    assert.is(many.attributes["messaging.batch.message_count"], 3);
    assert.is(many.attributes["headrace.job.kind"], undefined);
    const headers = await Promise.all(
      batch.map(async ({ id: each }) => (await store.getJob(each, true))?.headers),
    );
    const traceparent = `00-${idsOf(many)}-01`;
    assert.equal(headers, [{ traceparent }, { other: "kept", traceparent }, own]);
  }),
);

otel("a replay in another trace is a replay, a refusal an error with its code", () =>
  inPlace(async ({ store }) => {
    const { options, span, point, exporter } = telemetry();
    const client = instrument(new Client(store), options);
    await client.enqueue("a", { n: 1 }, { id: "same" });
    assert.is((await client.enqueue("a", { n: 1 }, { id: "same" })).disposition, "replayed");
    assert.is(await point("headrace.enqueue.jobs", { "headrace.job.disposition": "replayed" }), 1);
    exporter.reset();
    try {
      await client.enqueue("a", { n: 2 }, { id: "same" });
      assert.unreachable();
    } catch (error) {
      assert.is((error as StoreError).code, "id_conflict");
    }
    const refused = span("enqueue default");
    assert.is(refused.status.code, SpanStatusCode.ERROR);
    assert.is(refused.attributes["error.type"], "id_conflict");
    assert.is(refused.events[0]?.name, "exception");
    assert.is(await point("headrace.enqueue.failures", { "error.type": "id_conflict" }), 1);
    assert.is(await point("headrace.enqueue.duration", { "error.type": "id_conflict" }), 1);
  }),
);

otel("an attempt is a consumer span with a link to its producer, and the handler runs within it", () =>
  inPlace(async ({ store, run: work }) => {
    const { options, span, point, exporter } = telemetry();
    const client = instrument(new Client(store), options);
    let active: string | undefined;
    const worker = instrument(
      await work(
        {
          good: async () => {
            await new Promise((resolve) => setTimeout(resolve, 5));
            active = trace.getSpan(context.active())?.spanContext().spanId;
          },
        },
        { workerId: "w1", concurrency: 1 },
      ),
      options,
    );
    const { id } = await client.enqueue("good", {}, { partitionKey: "acme" });
    await until("the span", () => exporter.getFinishedSpans().some(({ name }) => name === "process default"));
    const [enqueue, process] = [span("enqueue default"), span("process default")];
    assert.is(process.kind, SpanKind.CONSUMER);
    assert.equal(linksOf(process), [idsOf(enqueue)]);
    assert.is(process.parentSpanContext, undefined);
    assert.is.not(process.spanContext().traceId, enqueue.spanContext().traceId);
    assert.is(active, process.spanContext().spanId);
    assert.equal(process.attributes, {
      "messaging.system": "headrace",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.destination.name": "default",
      "messaging.destination.partition.id": "acme",
      "messaging.message.id": id,
      "messaging.client.id": "w1",
      "headrace.job.kind": "good",
      "headrace.job.attempt": 0,
      "headrace.job.crash_attempt": 0,
      "headrace.job.outcome": "success",
      "headrace.job.state": "deleted",
    });
    assert.is(process.status.code, SpanStatusCode.UNSET);
    const [seconds, nanos] = process.duration;
    assert.ok(seconds * 1e9 + nanos >= 4e6, `${seconds} ${nanos}`);
    const kind = { "headrace.job.kind": "good", "messaging.destination.name": "default" };
    assert.is(await point("headrace.job.attempts", { ...kind, "headrace.job.outcome": "success" }), 1);
    assert.is(await point("headrace.job.duration", { ...kind, "headrace.job.outcome": "success" }), 1);
    assert.is(await point("headrace.job.wait", kind), 1);
    assert.is(await point("headrace.job.running", kind), 0);
    assert.ok((await point("headrace.admission.claims"))! >= 1);
    assert.ok((await point("headrace.admission.duration"))! >= 1);
    await worker.stop();
  }),
);

otel("attempts belong to the producer's trace where that is asked for", () =>
  inPlace(async ({ store, run: work }) => {
    const { options, span, exporter } = telemetry();
    const client = instrument(new Client(store), options);
    instrument(await work({ good: () => 1 }), { ...options, continueTrace: true });
    await client.enqueue("good");
    await until("the span", () => exporter.getFinishedSpans().length === 2);
    const [enqueue, process] = [span("enqueue default"), span("process default")];
    assert.is(process.parentSpanContext?.spanId, enqueue.spanContext().spanId);
    assert.is(process.spanContext().traceId, enqueue.spanContext().traceId);
    assert.equal(process.links, []);
  }),
);

otel("each attempt has a span, and a failed one says why; other ends are no errors", () =>
  inPlace(async (place) => {
    const { options, point, exporter } = telemetry();
    const { store } = place;
    const attempts = new Map<string, number>();
    const client = new Client(store, { defaults: { maxAttempts: 2 } });
    instrument(
      await place.run({
        fail: task({
          retryDelay: () => 0,
          handler: () => {
            throw new RangeError("out of it");
          },
        }),
        later: (_: unknown, job) => {
          attempts.set(job.id, (attempts.get(job.id) ?? 0) + 1);
          return attempts.get(job.id) === 1 ? job.snooze(1) : job.skip("no more");
        },
        unreadable: task<object>({
          codec: {
            encode: () => Buffer.from("x"),
            decode: () => {
              throw new Error("cut off");
            },
          },
          handler: () => 1,
        }),
      }),
      options,
    );
    const ids: string[] = [];
    for (const kind of ["fail", "later", "unreadable"]) ids.push((await client.enqueue(kind)).id);
    const process = (at: number): ReadableSpan[] =>
      exporter.getFinishedSpans().filter(({ attributes }) => attributes["messaging.message.id"] === ids[at]);
    await until("five spans", () => exporter.getFinishedSpans().length === 5);
    assert.equal(
      process(0).map(({ status, attributes, events }) => [
        status.code,
        attributes["headrace.job.attempt"],
        attributes["headrace.job.state"],
        attributes["error.type"],
        events[0]?.attributes?.["exception.message"],
      ]),
      [
        [SpanStatusCode.ERROR, 0, "retryable", "RangeError", "out of it"],
        [SpanStatusCode.ERROR, 1, "archived", "RangeError", "out of it"],
      ],
    );
    assert.equal(
      process(1).map(({ status, attributes }) => [status.code, attributes["headrace.job.outcome"]]),
      [
        [SpanStatusCode.UNSET, "snooze"],
        [SpanStatusCode.UNSET, "skip"],
      ],
    );
    assert.ok(exporter.getFinishedSpans().every(({ links }) => links.length === 0));
    const [unreadable] = process(2);
    assert.is(unreadable?.attributes["headrace.job.outcome"], "undecodable");
    assert.match(unreadable?.status.message ?? "", "cut off");
    for (const [kind, outcome, n] of [
      ["fail", "retry", 2],
      ["later", "snooze", 1],
      ["later", "skip", 1],
      ["unreadable", "undecodable", 1],
    ]) {
      const attributes = { "headrace.job.kind": kind, "headrace.job.outcome": outcome };
      assert.is(await point("headrace.job.attempts", attributes), n, `${kind} ${outcome}`);
    }
  }),
);

async function lose({ database }: Place, id: string): Promise<void> {
  await database.query("select :SCHEMA.operator_cancel($1)", [id]);
}

otel("a lost lease, a stuck handler and an unknown kind are counted, and nothing stays open", () =>
  inPlace(async (place) => {
    const { options, point, sum, exporter } = telemetry();
    const { store } = place;
    let during: number | undefined;
    const worker = instrument(
      await place.run(
        {
          lose: async (_: unknown, job) => {
            during = await point("headrace.job.running", { "headrace.job.kind": "lose" });
            await lose(place, job.id);
            await job.progress(1, 2).catch(() => undefined);
          },
          stick: () => new Promise(() => undefined),
        },
        { stuckGrace: 10, unknownKindDelay: "1h" },
      ),
      options,
    );
    const client = new Client(store);
    await client.enqueue("lose");
    await client.enqueue("stick", {}, { timeout: 10, maxAttempts: 1 });
    await client.enqueue("nobody");
    await until("unknown", async () => (await point("headrace.job.unknown")) === 1);
    await until("two spans", () => exporter.getFinishedSpans().length === 2);
    const lost = exporter
      .getFinishedSpans()
      .find(({ attributes }) => attributes["headrace.job.kind"] === "lose")!;
    assert.equal(
      [lost.attributes["headrace.job.outcome"], lost.attributes["error.type"], lost.status.code],
      ["lost", "lease_lost", SpanStatusCode.ERROR],
    );
    assert.equal([during, await sum("headrace.job.running")], [1, 0]);
    assert.is(await point("headrace.job.lost", { "headrace.job.kind": "lose" }), 1);
    assert.is(await point("headrace.job.stuck", { "headrace.job.kind": "stick" }), 1);
    assert.is(await sum("headrace.admission.claims"), 3);
    await worker.stop();
  }),
);

otel("what a handler enqueues belongs to its attempt's trace", () =>
  inPlace(async ({ store, run: work }) => {
    const { options, span, exporter } = telemetry();
    const client = instrument(new Client(store), options);
    instrument(
      await work({
        parent: async (_: unknown, job) => {
          await job.once(async () => {
            await job.client.enqueue("child", {}, { queue: "later", id: "child" });
          });
        },
      }),
      options,
    );
    const { id } = await client.enqueue("parent", {}, { headers: { tenant: "a" } });
    await until("the spans", () => exporter.getFinishedSpans().length === 3);
    const [child, process] = [span("enqueue later"), span("process default", id)];
    assert.is(child.parentSpanContext?.spanId, process.spanContext().spanId);
    assert.equal((await store.getJob("child", true))!.headers, { traceparent: `00-${idsOf(child)}-01` });
  }),
);

otel("without a context manager the trace of the handler's job is the parent", () =>
  inPlace(async ({ store, run: work }) => {
    const { options, span, exporter } = telemetry();
    const worker = await work({
      parent: (_: unknown, job) =>
        // Out of the attempt's context, as everything is without a context manager.
        context.with(trace.deleteSpan(context.active()), () =>
          job.client.enqueue("child", {}, { queue: "later", id: "child" }),
        ),
    });
    instrument(worker.client, options);
    const traceparent = "00-11111111111111111111111111111111-2222222222222222-01";
    await new Client(store).enqueue("parent", {}, { headers: { traceparent, tracestate: "a=1" } });
    await until("the span", () => exporter.getFinishedSpans().length === 1);
    const child = span("enqueue later");
    assert.equal(
      [child.spanContext().traceId, child.parentSpanContext?.spanId],
      ["11111111111111111111111111111111", "2222222222222222"],
    );
    assert.equal((await store.getJob("child", true))!.headers, {
      traceparent: `00-${idsOf(child)}-01`,
      tracestate: "a=1",
    });
  }),
);

otel("instrumenting twice is instrumenting once; without an SDK nothing is written", () =>
  inPlace(async ({ store }) => {
    const { options, exporter } = telemetry();
    const client = new Client(store);
    assert.is(instrument(client, options), client);
    instrument(client, options);
    await client.enqueue("a");
    assert.is(exporter.getFinishedSpans().length, 1);
    const bare = instrument(new Client(store));
    const { id } = await bare.enqueue("a");
    assert.is((await store.getJob(id, true))!.headers, null);
  }),
);

otel("attribute values are bounded", () => {
  const value = bounded(2);
  assert.equal(["a", "b", "c", "a", "d", "b"].map(value), ["a", "b", "other", "a", "other", "b"]);
});

otel("everything works where the package is not installed", () =>
  inPlace(async ({ database }) => {
    const here = fileURLToPath(new URL(".", import.meta.url));
    const folder = await mkdtemp(join(here, ".absent-"));
    const source = `
      import Module from "node:module";
      const resolve = Module._resolveFilename;
      Module._resolveFilename = function (name, ...rest) {
        if (!name.startsWith("@opentelemetry/")) return resolve.call(this, name, ...rest);
        throw Object.assign(new Error("Cannot find module " + name), { code: "MODULE_NOT_FOUND" });
      };
      const { Client, PgStore, Worker } = await import("../../../../src/index.js");
      const { instrument } = await import("../../../../src/otel/index.js");
      const { api } = await import("../../../../src/otel/api.js");
      const store = await PgStore.connect(process.env.DATABASE_URL, { schema: process.env.SCHEMA });
      const worker = instrument(new Worker(store, { tasks: {
        parent: async (_, job) => { await job.client.enqueueAndWait("child", {}); return job.headers.traceparent; },
        child: () => 1,
      } }));
      await worker.start();
      const client = instrument(new Client(store));
      const { result } = await client.enqueueAndWait("parent", {}, { headers: { traceparent: "kept" } });
      await worker.stop();
      await store.close();
      console.log(JSON.stringify([api === undefined, result]));
    `;
    try {
      await writeFile(join(folder, "absent.ts"), source);
      const { stdout } = await run(process.execPath, ["--import", "tsx", join(folder, "absent.ts")], {
        env: { ...process.env, DATABASE_URL: database.url, SCHEMA: database.schema },
        timeout: 60_000,
      });
      assert.equal(JSON.parse(stdout), [true, "kept"]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }),
);

otel.run();
