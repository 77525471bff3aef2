import type { Metric } from "./types.js";

/** Of what `prometheusText` returns. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

const help: Readonly<Record<string, string>> = {
  queue_depth: "Unfinished jobs",
  queue_limit: "How many unfinished jobs the queue may have",
  queue_weight: "Share of the queue among the queues of a worker",
  queue_paused: "1: nothing of the queue is admitted",
  queue_arrival_per_second: "Jobs that came, over the last one to two minutes",
  queue_drain_per_second: "Jobs that left the unfinished ones, over the last one to two minutes",
  queue_time_to_drain_seconds: "When the queue will be empty at this rate; absent while it does not shrink",
  queue_oldest_available_seconds: "Longest wait of a job that could run",
  queue_quiet_oldest_seconds: "The same, of partitions with at most 10 jobs in line",
  queue_memory_bytes: "What the jobs of the queue take, an estimate",
  queue_jobs: "Jobs by state, counted up to a cap",
  refused_per_second: "Jobs that the gate held back, by reason, over the last one to two minutes",
  workers: "Workers by status",
  worker_capacity: "Jobs that the workers can run at the same time",
  worker_inflight: "Jobs that the workers run",
  duty_success_age_seconds: "Since the duty last succeeded",
  duty_failures: "Failures of the duty in a row",
  sweep_errors: "Rows that a sweep could not move",
  operations_open: "Bulk operations that have not ended",
  schedules: "Schedules by state",
  schedule_lag_seconds: "How far the next tick of the schedule is overdue",
  schedule_failures: "Tries of the present tick that failed",
  schedule_missed_ticks_total: "Ticks of the schedule that came to no job",
  concurrency_limit: "Jobs of a partition that may run at the same time",
  rate_class_per_second: "Weight that the rate class lets through",
  notification_queue_usage: "How full the server's notification queue is, 0 to 1",
  leases: "Leases, those of finished jobs included until they expire",
  leases_expired: "Leases that have expired and wait for the reclaimer",
  sleeping_workers: "Workers that wait for a wake-up",
  quarantined_fingerprints: "Contents that are quarantined",
  uncounted_rows: "Rows that the roll-up of counters has before it",
  invalid_indexes: "Indexes that are not valid",
  schema_version: "Number of the newest migration",
};

/**
 * Metrics in the text format of Prometheus: names that end in `_total` are counters, the others gauges. Each series is
 * there once, as a scraper demands.
 */
export function prometheusText(metrics: readonly Metric[]): string {
  const families = new Map<string, Map<string, number>>();
  for (const { name, labels, value } of metrics) {
    const family = name.replaceAll(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_");
    const series = families.get(family) ?? new Map<string, number>();
    families.set(family, series);
    const key = labelText(labels);
    if (!series.has(key)) series.set(key, value);
  }
  return [...families].map(([name, series]) => familyText(name, series)).join("");
}

function familyText(name: string, series: ReadonlyMap<string, number>): string {
  const about = help[name.replace(/^headrace_/, "")];
  const lines = about === undefined ? [] : [`# HELP ${name} ${about}`];
  lines.push(`# TYPE ${name} ${name.endsWith("_total") ? "counter" : "gauge"}`);
  for (const [labels, value] of series) lines.push(`${name}${labels} ${valueText(value)}`);
  return lines.map((line) => `${line}\n`).join("");
}

function labelText(labels: Metric["labels"]): string {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, value]) =>
        `${name.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_")}="${escaped(value)}"`,
    );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

function valueText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
