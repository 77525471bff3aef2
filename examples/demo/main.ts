/**
 * npm run demo [folder]
 *
 * A job for each file below a folder (this repository with its dependencies, unless you name another), done by two worker
 * processes, of which one is killed half-way, on a PostgreSQL of its own that is gone afterwards.
 */
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { migrate, PgStore, type Job } from "../../src/index.js";
import { startEmbedded, type EmbeddedServer } from "../../test/ts/support/embedded.js";
import { filesUnder } from "./files.js";
import { Fleet } from "./fleet.js";
import { Progress } from "./progress.js";
import { readBack, startLatency, type Summary } from "./results.js";
import type { FileJob } from "./worker.js";

const maxFiles = 100_000;
const keptMs = 24 * 3_600_000;
const poisonTenant = "(poison)";

async function main(folder: string): Promise<boolean> {
  let server: EmbeddedServer | undefined;
  let store: PgStore | undefined;
  let fleet: Fleet | undefined;
  const scratch = await mkdtemp(join(tmpdir(), "headrace-demo-"));
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort(new Error("interrupted"));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    console.log("starting PostgreSQL");
    server = await startEmbedded();
    const { version } = await migrate({ connectionString: server.url() });
    console.log(`PostgreSQL ${server.major} on port ${server.port}, Headrace at version ${version}`);
    store = await PgStore.connect(server.url(), { maxSize: 4 });

    const poison = join(scratch, "poison.bin");
    await writeFile(poison, "whoever reads this dies\n");
    const jobs = await enqueueFiles(store, folder, poison);
    console.log(`enqueued ${jobs} files of ${folder}, and one that kills the process that reads it`);

    fleet = new Fleet(2, { ...process.env, DATABASE_URL: server.url() });
    const rate = await watch(store, fleet, jobs + 1, interrupted.signal);
    const latency = await startLatency(store);
    const summary = await readBack(store, poison);
    await fleet.stop();
    return report(summary, { expected: jobs + 1, rate, latency, deaths: fleet.deaths });
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    await fleet?.stop();
    await store?.close();
    await server?.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Answers with the number of files; the poison goes in between them. */
async function enqueueFiles(store: PgStore, folder: string, poison: string): Promise<number> {
  const job = (payload: FileJob, partitionKey: string): Job => ({
    kind: "file:digest",
    queue: "files",
    partitionKey,
    payload,
    maxAttempts: 3,
    retentionMs: keptMs,
  });
  let files = 0;
  const batch = [job({ path: poison, poison: true }, poisonTenant)];
  for await (const { path, tenant } of filesUnder(folder)) {
    if (files === maxFiles) {
      console.log(`stopping at ${maxFiles} files`);
      break;
    }
    files++;
    // One file in five hundred is busy when it is first read.
    batch.push(job({ path, ...(files % 500 === 0 && { flaky: true }) }, tenant));
    if (batch.length === 1000) await store.enqueue(batch.splice(0));
  }
  if (batch.length > 0) await store.enqueue(batch);
  return files;
}

/** Shows how the work goes, kills a worker half-way, and answers with the rate until then, in jobs/s. */
async function watch(store: PgStore, fleet: Fleet, jobs: number, signal: AbortSignal): Promise<number> {
  const progress = new Progress(jobs);
  let first: { readonly done: number; readonly at: number } | undefined;
  let rate: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    const { byState } = await store.counts("files");
    const done = byState.completed + byState.archived + byState.undecodable + byState.quarantined;
    progress.show(byState, done, fleet.deaths);
    if (done > 0) first ??= { done, at: Date.now() };
    if (done >= jobs) break;
    if (rate === undefined && done >= jobs / 2) {
      const { done: before, at } = first ?? { done: 0, at: 0 };
      rate = (done - before) / ((Date.now() - at) / 1000 || Number.NaN);
      progress.say(`half-way: killing worker process ${fleet.killOne()} with SIGKILL`);
    }
    await sleep(200, undefined, { signal });
  }
  progress.end();
  return rate ?? Number.NaN;
}

interface Run {
  readonly expected: number;
  readonly rate: number;
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly deaths: number;
}

function report(found: Summary, run: Run): boolean {
  const lost = run.expected - found.done - found.failed.length - found.quarantined;
  const rows: [string, string | number][] = [
    ["done", found.done],
    ["retried", found.retried],
    ["reclaimed", found.reclaimed],
    ["quarantined", found.quarantined],
    ["unreadable", found.failed.length],
    ["lost", lost],
    ["wrong", found.wrong.length],
    ["worker processes that died", run.deaths],
    ["jobs/s until the kill", Number.isNaN(run.rate) ? "-" : Math.round(run.rate)],
    ["start latency p50", `${run.latency.p50.toFixed(1)} ms`],
    ["start latency p99", `${run.latency.p99.toFixed(1)} ms`],
  ];
  console.log();
  for (const [name, value] of rows) console.log(`  ${name.padEnd(28)} ${String(value).padStart(10)}`);
  console.log();
  for (const { path, error } of found.failed.slice(0, 20)) console.log(`unreadable: ${path}: ${error}`);
  for (const path of found.wrong.slice(0, 20)) console.log(`wrong: ${path}`);
  const right = found.wrong.length === 0 ? "every hash is right" : `${found.wrong.length} hashes are wrong`;
  console.log(`lost ${lost}; ${right} (compared with ${found.compared} computed here)`);
  return lost === 0 && found.wrong.length === 0 && found.quarantined === 1;
}

const folder = await realpath(process.argv[2] ?? fileURLToPath(new URL("../../", import.meta.url)));
try {
  process.exitCode = (await main(folder)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
