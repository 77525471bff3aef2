/**
 * Two worker processes and a producer, each behind a network that fails, before a server that restarts. In the end every
 * effect must have happened exactly once, with nothing lost and nothing stuck.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PgStore } from "../../src/index.js";
import { privateServer, type TestDatabase } from "../ts/support/database.js";
import { eventually } from "../ts/support/eventually.js";
import { startProxy, type Proxy } from "../ts/support/proxy.js";
import { chaos, networkFaults, processFaults, type Stage } from "./chaos.js";
import { Member } from "./fleet.js";
import { ceiling } from "./jobs.js";
import { judge } from "./judge.js";
import { Random } from "./random.js";

export interface SoakOptions {
  readonly seed: number;
  /** How long the chaos lasts; each kind of fault happens at least once, however short that is. */
  readonly minutes: number;
  /** Jobs a second. */
  readonly rate: number;
  /** How long what is left may take when the chaos is over. */
  readonly drainMs: number;
  readonly log: (line: string) => void;
}

export interface SoakReport {
  /** How often each kind of fault happened. */
  readonly faults: ReadonlyMap<string, number>;
  /** What is to be seen in a table. */
  readonly figures: Readonly<Record<string, number | string>>;
  /** Everything that is wrong; empty: the soak is passed. */
  readonly complaints: readonly string[];
}

export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seed, minutes, rate, drainMs, log } = options;
  const folder = await mkdtemp(join(tmpdir(), "headrace-soak-"));
  const ledger = join(folder, "ledger");
  await writeFile(ledger, "");
  const { server, database, close } = await privateServer({ poolSize: 3 });
  const proxies: Proxy[] = [];
  const members: Member[] = [];
  const events = new Map<string, number>();
  const complaints: string[] = [];
  const told = (event: string): void => void events.set(event, (events.get(event) ?? 0) + 1);
  const member = async (name: string, file: string): Promise<Member> => {
    const proxy = await startProxy(database.url);
    proxies.push(proxy);
    const made = new Member({
      name,
      file,
      environment: {
        SOAK_URL: proxy.url,
        SOAK_SCHEMA: database.schema,
        SOAK_WORKER: name,
        SOAK_SEED: String(seed),
        SOAK_RATE: String(rate),
        SOAK_LEDGER: ledger,
      },
      told,
      strange: (what) => complaints.push(what),
    });
    members.push(made);
    return made;
  };
  try {
    const store = new PgStore(database.pool, { schema: database.schema });
    await prepare(database, store);
    const workers = [await member("worker-1", "worker.ts"), await member("worker-2", "worker.ts")];
    const producer = await member("producer", "producer.ts");
    const sampler = sampleRunning(database);
    await eventually("the workers are ready", () => workers.every(({ ready }) => ready), 60_000);

    const begun = performance.now();
    const since = (): string => `${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s`;
    const stage = (salt: number): Stage => ({
      random: new Random(seed + salt),
      server,
      workers,
      proxies,
      pool: database.pool,
      schema: database.identifier,
      log: (line) => log(`${since()}  ${line}`),
    });
    // Two kinds of trouble at the same time, each by its own dice.
    const goOn = (rounds: number): boolean => rounds === 0 || performance.now() - begun < minutes * 60_000;
    const happened = await Promise.all([
      chaos(stage(1), processFaults, goOn),
      chaos(stage(2), networkFaults, goOn),
    ]);
    const chaosMs = performance.now() - begun;

    log(`${since()}  the chaos is over; the producer stops`);
    complaintsOf("the producer", await producer.finish());
    const released = await drain(database, store, drainMs);
    if (released === undefined) complaints.push(`not drained within ${drainMs} ms`);
    log(`${since()}  drained`);
    for (const worker of workers) complaintsOf(worker.name, await worker.stop());
    const mostRunning = await sampler.stop();
    complaints.push(...(await judge(database, ledger, mostRunning)));
    const faults = new Map(happened.flatMap((some) => [...some]));
    return {
      faults,
      complaints,
      figures: {
        seed,
        minutes: (chaosMs / 60_000).toFixed(1),
        faults: [...faults.values()].reduce((sum, n) => sum + n, 0),
        "jobs acknowledged": new Set((await readFile(ledger, "utf8")).trimEnd().split("\n")).size,
        "batches sent again": events.get("resent") ?? 0,
        effects: await count(database, "soak_effect"),
        "attempts failed": events.get("retry") ?? 0,
        "leases found lost": events.get("lost") ?? 0,
        "quarantined and released": released ?? "?",
        "samples of the ceilings": sampler.samples,
        "most running under a ceiling": `${Math.max(0, ...mostRunning.values())} of ${ceiling}`,
      },
    };
  } finally {
    for (const made of members) made.destroy();
    for (const proxy of proxies) await proxy.close();
    await close().catch((error: unknown) => complaints.push(String(error)));
    await rm(folder, { recursive: true });
  }

  function complaintsOf(who: string, end: string): void {
    if (end !== "0") complaints.push(`${who} ended with ${end}`);
  }
}

async function prepare(database: TestDatabase, store: PgStore): Promise<void> {
  // No constraint: an effect that happens twice is to be seen twice.
  await database.query("create table soak_effect (job text, effect text, fence bigint, pid integer)");
  await database.query("create table soak_order (job text)");
  await store.upsertConcurrencyLimit({ name: "soak", queue: "capped", maxConcurrent: ceiling });
  await store.upsertRateClass({ name: "soak", limitPerWindow: 20, windowMs: 1_000, burst: 20 });
}

async function count(database: TestDatabase, table: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return row?.n ?? 0;
}

/** Looks again and again how many jobs run under each ceiling, as far as the server is there. */
function sampleRunning(database: TestDatabase): {
  readonly samples: number;
  stop(): Promise<ReadonlyMap<string, number>>;
} {
  const most = new Map<string, number>();
  let samples = 0;
  let stopped = false;
  const done = (async () => {
    while (!stopped) {
      try {
        const running = await database.query<{ partition_key: string; running: number }>(
          "select partition_key, count(*)::int as running from :SCHEMA.job " +
            "where queue = 'capped' and stage = 1 and state = 'running' group by 1",
        );
        samples++;
        for (const row of running) {
          most.set(row.partition_key, Math.max(most.get(row.partition_key) ?? 0, row.running));
        }
      } catch {
        // The server is away.
      }
      await sleep(50);
    }
  })();
  return {
    get samples() {
      return samples;
    },
    async stop() {
      stopped = true;
      await done;
      return most;
    },
  };
}

/**
 * Waits until nothing is left to do, and lets go what was quarantined because its workers were killed. Answers with how
 * many those were, or undefined where it takes too long.
 */
async function drain(database: TestDatabase, store: PgStore, timeoutMs: number): Promise<number | undefined> {
  let released = 0;
  const until = performance.now() + timeoutMs;
  while (performance.now() < until) {
    try {
      for (const { fingerprint } of await store.quarantineList()) {
        released += await store.quarantineRelease(fingerprint);
      }
      const [left] = await database.query<{ jobs: number; leases: number }>(
        "select (select count(*)::int from :SCHEMA.job where stage < 2 or state = 'quarantined') as jobs, " +
          "(select count(*)::int from :SCHEMA.lease) as leases",
      );
      if (left?.jobs === 0 && left.leases === 0) return released;
    } catch {
      // Its connection may be one of those that were cut.
    }
    await sleep(200);
  }
  return undefined;
}
