import { setTimeout as sleep } from "node:timers/promises";
import type { JobSummary, PgStore } from "../../src/index.js";
import { digest, type Digest } from "./digest.js";
import type { FileJob } from "./worker.js";

export interface Summary {
  readonly done: number;
  readonly retried: number;
  readonly reclaimed: number;
  readonly quarantined: number;
  /** Hashes that were computed again here. */
  readonly compared: number;
  readonly failed: readonly { readonly path: string; readonly error: string }[];
  /** Files whose hash or number of lines is another than this process finds. */
  readonly wrong: readonly string[];
}

/** Reads every job back from the store and does its work again, to compare. */
export async function readBack(store: PgStore, poison: string): Promise<Summary> {
  const found = { done: 0, retried: 0, reclaimed: 0, quarantined: 0, compared: 0 };
  const failed: { path: string; error: string }[] = [];
  const wrong: string[] = [];
  const check = async (job: JobSummary): Promise<void> => {
    found.retried += job.attempt;
    found.reclaimed += job.crashAttempt;
    const [full, result] = await Promise.all([store.getJob(job.id, true), store.getJobResult(job.id)]);
    const { path } = JSON.parse(full?.payload?.toString() ?? "{}") as FileJob;
    if (job.state === "quarantined") found.quarantined += path === poison ? 1 : 0;
    else if (job.state !== "completed") {
      const [last] = await store.listAttempts(job.id, 1);
      failed.push({ path, error: last?.error?.split("\n")[0] ?? job.state });
    } else {
      found.done++;
      const ours = await digest(path).catch(() => undefined);
      // One that has gone or changed since can't be compared.
      if (!ours) return;
      found.compared++;
      const theirs = JSON.parse(Buffer.from(result?.bytes ?? "{}").toString()) as Partial<Digest>;
      if (theirs.sha256 !== ours.sha256 || theirs.lines !== ours.lines) wrong.push(path);
    }
  };
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<PgStore["listJobs"]>> = await store.listJobs(
      { queue: "files" },
      cursor,
      200,
    );
    await Promise.all(page.jobs.map(check));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { ...found, failed, wrong };
}

/** From enqueue to the first line of the handler, in ms, when the workers idle. */
export async function startLatency(store: PgStore): Promise<{ p50: number; p99: number }> {
  const samples: number[] = [];
  for (let n = 0; n < 60; n++) {
    const sentAtMs = performance.timeOrigin + performance.now();
    const [job] = await store.enqueue([
      { kind: "ping", queue: "pings", payload: { n }, retentionMs: 60_000 },
    ]);
    if (!job) continue;
    for (let tries = 0; tries < 500; tries++) {
      const result = await store.getJobResult(job.id);
      if (result) {
        const { startedAtMs } = JSON.parse(Buffer.from(result.bytes).toString()) as { startedAtMs: number };
        samples.push(startedAtMs - sentAtMs);
        break;
      }
      await sleep(10);
    }
  }
  samples.sort((a, b) => a - b);
  const at = (share: number): number =>
    samples[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
