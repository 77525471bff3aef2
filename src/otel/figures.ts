import type { JobRef, Worker } from "../worker/index.js";
import { bounded, secondsBounds, type Telemetry } from "./options.js";

/** What a worker does, in numbers. */
export function countWorker(worker: Worker, { meter }: Telemetry): void {
  const [kinds, queues] = [bounded(), bounded()];
  const about = ({ kind, queue }: JobRef): Record<string, string> => ({
    "headrace.job.kind": kinds(kind),
    "messaging.destination.name": queues(queue),
  });
  const seconds = (name: string, description: string): ReturnType<typeof meter.createHistogram> =>
    meter.createHistogram(name, {
      unit: "s",
      description,
      advice: { explicitBucketBoundaries: secondsBounds },
    });
  const counter = (name: string, unit: string, description: string): ReturnType<typeof meter.createCounter> =>
    meter.createCounter(name, { unit, description });

  const attempts = counter("headrace.job.attempts", "{attempt}", "Attempts that have ended, by outcome");
  const duration = seconds("headrace.job.duration", "How long attempts took, until their end was durable");
  const wait = seconds("headrace.job.wait", "How long jobs waited from when they could run until they did");
  const running = meter.createUpDownCounter("headrace.job.running", {
    unit: "{attempt}",
    description: "Attempts that run now",
  });
  const lost = counter("headrace.job.lost", "{attempt}", "Attempts that lost their lease");
  const stuck = counter("headrace.job.stuck", "{attempt}", "Handlers that did not stop when told to");
  const unknown = counter("headrace.job.unknown", "{job}", "Jobs of kinds that no task handles");
  const admission = seconds("headrace.admission.duration", "How long admissions took");
  const claims = meter.createHistogram("headrace.admission.claims", {
    unit: "{job}",
    description: "Jobs that one admission brought",
    advice: { explicitBucketBoundaries: [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024] },
  });
  const refused = counter("headrace.admission.refused", "{job}", "Jobs that the gate held back, by reason");

  const open = new Map<string, Record<string, string>>();
  const end = (job: JobRef): void => {
    const attributes = open.get(keyOf(job));
    if (attributes && open.delete(keyOf(job))) running.add(-1, attributes);
  };
  worker.on("job:started", ({ job, waitedMs }) => {
    const attributes = about(job);
    open.set(keyOf(job), attributes);
    running.add(1, attributes);
    wait.record(waitedMs / 1000, attributes);
  });
  worker.on("job:settled", ({ job, outcome, durationMs }) => {
    // What was put off or handed back before its handler was called is no attempt.
    if (!open.has(keyOf(job))) return;
    end(job);
    const attributes = { ...about(job), "headrace.job.outcome": outcome };
    attempts.add(1, attributes);
    duration.record(durationMs / 1000, attributes);
  });
  worker.on("job:lost", ({ job }) => {
    end(job);
    lost.add(1, about(job));
  });
  worker.on("job:uncertain", ({ job }) => end(job));
  worker.on("job:stuck", ({ job }) => stuck.add(1, about(job)));
  worker.on("job:unknown", ({ job }) => unknown.add(1, about(job)));
  worker.on("worker:admission", ({ claimed, refused: held, durationMs }) => {
    admission.record(durationMs / 1000);
    claims.record(claimed);
    for (const [reason, n] of Object.entries(held)) refused.add(n, { "headrace.admission.reason": reason });
  });
  worker.on("worker:stopped", () => {
    for (const attributes of open.values()) running.add(-1, attributes);
    open.clear();
  });
}

const keyOf = ({ id, fence }: JobRef): string => `${fence} ${id}`;
