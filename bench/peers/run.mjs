/**
 * Headrace beside its peers on one server with the durability of production: enqueue in batches and one by one, drain of
 * a backlog of no-op jobs by one and by two worker processes, the same while the jobs come, and the time from enqueue to
 * handler at idle. The systems take turns.
 *
 *   npm run bench:peers [-- --jobs 20000 --rounds 3 --only headrace,graphile-worker]
 */
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { median, ratio } from "../support/figures.js";
import { benchServer } from "../support/server.js";
import { systems } from "./systems.mjs";

const { values: flags } = parseArgs({
  options: {
    jobs: { type: "string", default: "20000" },
    singles: { type: "string", default: "500" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: Object.keys(systems).join(",") },
  },
});
const jobs = Number(flags.jobs);
const singles = Number(flags.singles);
const rounds = Number(flags.rounds);
const names = flags.only.split(",");

const server = await benchServer();
const admin = new pg.Client({ connectionString: server.url });
await admin.connect();
/** A database of its own for each measurement: nobody pays for the dead rows of another. */
let databases = 0;
async function database() {
  const name = `peers_${process.pid}_${databases++}`;
  await admin.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => admin.query(`drop database ${name} with (force)`) };
}

/** A worker process that has loaded its system. `work` resolves when it works, `stop` when it has ended. */
async function worker(name, url, onStart) {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(new URL("worker.mjs", import.meta.url)), name, url],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const said = new EventEmitter();
  child.once("exit", (code) => said.emit("error", new Error(`a worker of ${name} ended with ${code}`)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("start ")) onStart?.(Number(line.slice("start ".length)));
    else said.emit(line);
  });
  await once(said, "loaded");
  return {
    async work() {
      child.stdin.write("work\n");
      await once(said, "ready");
    },
    async stop() {
      child.removeAllListeners("exit");
      child.stdin.write("stop\n");
      await once(child, "exit");
    },
  };
}

const payloads = (count) => Array.from({ length: count }, (_, i) => ({ i }));
const seconds = (begun) => (performance.now() - begun) / 1000;

const measurements = {
  "enqueue, batches of 1000, jobs/s": async (queue) => {
    const begun = performance.now();
    await backlog(queue);
    return jobs / seconds(begun);
  },
  "enqueue one by one, jobs/s": async (queue) => {
    const begun = performance.now();
    for (const payload of payloads(singles)) await queue.one(payload);
    return singles / seconds(begun);
  },
  "drain, 1 worker process, jobs/s": (queue, name, url) => drain(queue, name, url, 1),
  "drain, 2 worker processes, jobs/s": (queue, name, url) => drain(queue, name, url, 2),
  "enqueue and drain at once, 1 worker process, jobs/s": (queue, name, url) => flow(queue, name, url, 1),
  "enqueue and drain at once, 2 worker processes, jobs/s": (queue, name, url) => flow(queue, name, url, 2),
  "start latency at idle, p50, ms": (queue, name, url) => latency(queue, name, url).then(({ p50 }) => p50),
  "start latency at idle, p99, ms": (queue, name, url) => latency(queue, name, url).then(({ p99 }) => p99),
};

async function backlog(queue) {
  for (let from = 0; from < jobs; from += 1000) await queue.many(payloads(1000));
}

async function emptied(queue) {
  // Rarely, since the question walks over what the workers have left behind.
  while (await queue.unfinished()) await sleep(20);
}

const workers = (name, url, count) => Promise.all(Array.from({ length: count }, () => worker(name, url)));

/** Of a backlog that is there, from the word to begin until no job is left: connecting is part of it, enqueueing is not. */
async function drain(queue, name, url, count) {
  const crew = await workers(name, url, count);
  await backlog(queue);
  const begun = performance.now();
  const working = Promise.all(crew.map((one) => one.work()));
  await emptied(queue);
  const rate = jobs / seconds(begun);
  await working;
  for (const one of crew) await one.stop();
  return rate;
}

/** One producer and workers that wait for its first job. Often the producer is the slowest of them. */
async function flow(queue, name, url, count) {
  const crew = await workers(name, url, count);
  for (const one of crew) await one.work();
  const begun = performance.now();
  await backlog(queue);
  await emptied(queue);
  const rate = jobs / seconds(begun);
  for (const one of crew) await one.stop();
  return rate;
}

const latencies = new Map();
/** Jobs that come before the measurement, to a worker that has just begun and to connections that are new. */
const unmeasured = 50;
async function latency(queue, name, url) {
  const known = latencies.get(url);
  if (known) return known;
  const waited = [];
  const { work, stop } = await worker(name, url, (ms) => waited.push(ms));
  await work();
  for (let at = 0; at < unmeasured + 200; at++) {
    await sleep(20 + 20 * Math.random());
    await queue.one({ at: performance.timeOrigin + performance.now() });
  }
  while (waited.length < unmeasured + 200) await sleep(10);
  await stop();
  const sorted = waited.slice(unmeasured).sort((a, b) => a - b);
  const figures = { p50: sorted[100], p99: sorted[198] };
  latencies.set(url, figures);
  return figures;
}

const results = Object.fromEntries(
  Object.keys(measurements).map((what) => [what, Object.fromEntries(names.map((name) => [name, []]))]),
);
try {
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const shared = await database();
      const idle = await systems[name].open(shared.url);
      for (const [what, measure] of Object.entries(measurements)) {
        if (what.startsWith("start latency")) {
          results[what][name].push(await measure(idle, name, shared.url));
          continue;
        }
        const own = await database();
        const queue = await systems[name].open(own.url);
        results[what][name].push(await measure(queue, name, own.url));
        await queue.close();
        await own.drop();
      }
      await idle.close();
      await shared.drop();
    }
  }
  console.log(`PostgreSQL ${server.version}, ${jobs} jobs, ${rounds} rounds, medians`);
  for (const [what, byName] of Object.entries(results)) {
    console.log(`\n${what}`);
    for (const name of names) {
      const beside = name === names[0] ? "" : `   ${names[0]} / it: ${ratio(byName[names[0]], byName[name])}`;
      console.log(`  ${name.padEnd(16)} ${median(byName[name]).toFixed(1).padStart(10)}${beside}`);
    }
  }
} finally {
  await admin.end();
  await server.close();
}
