import { setTimeout as sleep } from "node:timers/promises";
import type { PgStore } from "../../src/index.js";
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

interface Row {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly crash_attempt: number;
  readonly cursor: string;
  readonly payload: Buffer;
  readonly result: Buffer | null;
}

/** Two hundred jobs with payload and result in one query: what is a function in SQL can be joined. */
const page = `
  select j.id, j.state, j.attempt, j.crash_attempt, j.cursor, p.payload, r.bytes as result
  from headrace.list_jobs('{"queue": "files"}', $1, 200) j
  cross join lateral headrace.get_job(j.id, include_payload => true) p
  left join lateral headrace.get_job_result(j.id) r on true
  order by j.cursor::bigint desc`;

/** Reads every job back from the store and does its work again, to compare. */
export async function readBack(store: PgStore, poison: string): Promise<Summary> {
  const found = { done: 0, retried: 0, reclaimed: 0, quarantined: 0, compared: 0 };
  const failed: { path: string; error: string }[] = [];
  const wrong: string[] = [];
  const check = async (job: Row): Promise<void> => {
    found.retried += job.attempt;
    found.reclaimed += job.crash_attempt;
    const { path } = JSON.parse(job.payload.toString()) as FileJob;
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
      const theirs = JSON.parse(job.result?.toString() ?? "{}") as Partial<Digest>;
      if (theirs.sha256 !== ours.sha256 || theirs.lines !== ours.lines) wrong.push(path);
    }
  };
  for (let cursor: string | null = null; ;) {
    const { rows }: { rows: Row[] } = await store.pool.query<Row>(page, [cursor]);
    await Promise.all(rows.map(check));
    cursor = rows.at(-1)?.cursor ?? null;
    if (cursor === null) break;
  }
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
