import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, prometheusContentType, prometheusText } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const prometheus = suite("text for Prometheus");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
prometheus.after(() => database.close());

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the format as a scraper does, and refuses what a scraper refuses. */
function parse(text: string): { samples: Sample[]; types: Map<string, string>; helps: Set<string> } {
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  const closed = new Set<string>();
  let family = "";
  assert.ok(text.endsWith("\n"));
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (comment) {
      const [, what, name, rest] = comment as unknown as [string, string, string, string];
      if (name !== family) closed.add(family);
      assert.not(closed.has(name), `${name} stands in two places`);
      family = name;
      if (what === "HELP") helps.add(name);
      else {
        assert.not(types.has(name));
        assert.ok(["gauge", "counter"].includes(rest));
        types.set(name, rest);
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    assert.ok(sample, `not a sample: ${line}`);
    const [, name, inner = "", value] = sample as unknown as [string, string, string | undefined, string];
    assert.is(name, family);
    assert.not(seen.has(`${name}{${inner}}`), line);
    seen.add(`${name}{${inner}}`);
    const labels: Record<string, string> = {};
    const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/y;
    while (pair.lastIndex < inner.length) {
      const found = pair.exec(inner);
      assert.ok(found, `not labels: ${inner}`);
      labels[found[1]!] = found[2]!.replaceAll(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    }
    samples.push({
      name,
      labels,
      value: value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value),
    });
  }
  return { samples, types, helps };
}

prometheus("label values are escaped, series grouped by name and there once", () => {
  const nasty = 'a\\b "c"\nd{e="f"},g\\n';
  const text = prometheusText([
    { name: "headrace_queue_depth", labels: { queue: nasty }, value: 3 },
    { name: "headrace_queue_weight", labels: { queue: "x" }, value: 0.1 },
    { name: "headrace_queue_depth", labels: { state: "s", queue: "x" }, value: 1e21 },
    { name: "headrace_queue_depth", labels: { queue: "x", state: "s" }, value: 4 },
    { name: "headrace_things_total", labels: {}, value: Infinity },
    { name: "headrace_odd-name", labels: { "odd-label": "v", "1st": "w" }, value: -Infinity },
  ]);
  const { samples, types, helps } = parse(text);
  assert.equal(samples, [
    { name: "headrace_queue_depth", labels: { queue: nasty }, value: 3 },
    { name: "headrace_queue_depth", labels: { queue: "x", state: "s" }, value: 1e21 },
    { name: "headrace_queue_weight", labels: { queue: "x" }, value: 0.1 },
    { name: "headrace_things_total", labels: {}, value: Infinity },
    { name: "headrace_odd_name", labels: { odd_label: "v", _1st: "w" }, value: -Infinity },
  ]);
  assert.equal([types.get("headrace_things_total"), types.get("headrace_queue_depth")], ["counter", "gauge"]);
  assert.ok(helps.has("headrace_queue_depth"));
  assert.match(text, 'queue="a\\\\b \\"c\\"\\nd{e=\\"f\\"},g\\\\n"');
  assert.is(prometheusText([]), "");
  assert.match(prometheusContentType, "version=0.0.4");
});

prometheus("the store's figures, each with a help, times in seconds", async () => {
  const queue = 'q"\\\n';
  await store.enqueue([{ kind: "a", queue, scheduledAtMs: Date.now() - 120_000 }]);
  await store.setEnqueueLimit(queue, 10);
  await store.upsertRateClass({ name: "r", limitPerWindow: 5 });
  await store.upsertConcurrencyLimit({ name: "c", queue, maxConcurrent: 2 });
  await store.upsertSchedule({ id: "s", spec: "@every:60000", kind: "tick" });
  await store.heartbeatWorker({
    workerId: "w",
    queues: [queue],
    concurrency: 3,
    inflight: 1,
    status: "running",
  });
  await store.runDuties("w");
  await store.sampleQueueMemory();
  const { samples, helps, types } = parse(await store.prometheus());
  const value = (name: string, labels: object): number | undefined =>
    samples.find(
      (one) => one.name === `headrace_${name}` && JSON.stringify(one.labels) === JSON.stringify(labels),
    )?.value;
  assert.is(value("queue_depth", { queue }), 1);
  assert.is(value("queue_jobs", { queue, state: "available" }), 1);
  assert.is(value("queue_limit", { queue }), 10);
  assert.is(value("concurrency_limit", { name: "c", queue }), 2);
  assert.is(value("rate_class_per_second", { name: "r" }), 5);
  assert.is(value("worker_capacity", { status: "running" }), 3);
  const oldest = value("queue_oldest_available_seconds", { queue })!;
  assert.ok(oldest >= 120 && oldest < 1200, `${oldest}`);
  assert.is(value("schedules", { state: "active" }), 1);
  const metrics = await store.metrics();
  assert.is(samples.length, metrics.length);
  for (const name of types.keys()) assert.ok(helps.has(name), `${name} has no help`);
  assert.not([...types.keys()].some((name) => /_ms|milli|minute/.test(name)));
});

prometheus("how far schedules are behind, the most overdue first, of 500 at most", async () => {
  await store.upsertSchedule({ id: "late", spec: "@every:60000", kind: "tick" });
  await store.upsertSchedule({ id: "retrying", spec: "@every:60000", kind: "tick" });
  await store.upsertSchedule({ id: "rests", spec: "@every:60000", kind: "tick", paused: true });
  await database.query(
    `update :SCHEMA.schedule set next_run_ms = :SCHEMA.now_ms() - 90000, missed_ticks = 7 where id in ('late', 'rests')`,
  );
  await database.query(
    `update :SCHEMA.schedule set next_run_ms = :SCHEMA.now_ms() - 30000, failures = 2,
       retry_at_ms = :SCHEMA.now_ms() + 60000 where id = 'retrying'`,
  );
  const read = async (name: string): Promise<Map<string, number>> => {
    const { samples } = parse(await store.prometheus());
    return new Map(
      samples
        .filter((sample) => sample.name === `headrace_schedule_${name}`)
        .map(({ labels, value }) => [labels["schedule"]!, value]),
    );
  };
  const lag = await read("lag_seconds");
  assert.equal([...lag.keys()], ["late", "retrying", "s"]);
  assert.ok(lag.get("late")! >= 90 && lag.get("late")! < 900, `${lag.get("late")}`);
  assert.ok(lag.get("retrying")! >= 30 && lag.get("retrying")! < lag.get("late")!);
  // It may fall due while this runs.
  assert.ok(lag.get("s")! >= 0 && lag.get("s")! < 30, `${lag.get("s")}`);
  assert.is((await read("failures")).get("retrying"), 2);
  assert.is((await read("missed_ticks_total")).get("late"), 7);
  const paused = (await store.metrics()).find(
    ({ name, labels }) => name === "headrace_schedules" && labels["state"] === "paused",
  );
  assert.is(paused?.value, 1);
  await database.query(
    `select :SCHEMA.upsert_schedule('many-' || n, '@every:60000', 'tick') from generate_series(1, 600) n`,
  );
  const many = await read("lag_seconds");
  assert.is(many.size, 500);
  assert.equal([...many.keys()].slice(0, 2), ["late", "retrying"]);
});

prometheus.run();
