import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { EmbeddedServer, StopMode } from "../ts/support/embedded.js";
import type { Proxy } from "../ts/support/proxy.js";
import type { Member } from "./fleet.js";
import { leaseMs } from "./jobs.js";
import type { Random } from "./random.js";

export interface Stage {
  readonly random: Random;
  readonly server: EmbeddedServer;
  readonly workers: readonly Member[];
  /** One before each process. */
  readonly proxies: readonly Proxy[];
  /** Past the proxies. */
  readonly pool: pg.Pool;
  readonly schema: string;
  readonly log: (line: string) => void;
}

/** Does something bad and undoes it; answers with what was done, for people. */
type Fault = (stage: Stage) => Promise<string>;

/** A lease or a sleeping machine: times beside which it matters on which side of the lease they are. */
const short = ({ random }: Stage): number => random.between(0.1, 0.7) * leaseMs;
const long = ({ random }: Stage): number => random.between(1.3, 3) * leaseMs;

/** A worker that holds jobs, as far as one does. */
async function busyWorker({ random, workers, pool, schema }: Stage): Promise<Member> {
  const worker = random.pick(workers);
  for (let tries = 0; tries < 100; tries++) {
    const holding = await pool
      .query(`select from ${schema}.lease where worker = $1`, [worker.name])
      .catch(() => undefined);
    if (worker.ready && holding?.rowCount) break;
    await sleep(50);
  }
  return worker;
}

/** One that somebody uses, or all. */
function someProxies({ random, proxies }: Stage): readonly Proxy[] {
  const used = proxies.filter(({ connections }) => connections > 0);
  if (used.length === 0) throw new Error("nobody is connected");
  return random.next() < 0.3 ? proxies : [random.pick(used)];
}

const restart =
  (mode: StopMode): Fault =>
  async (stage) => {
    const ms = stage.random.next() < 0.5 ? 0 : short(stage);
    await stage.server.stop(mode);
    await sleep(ms);
    await stage.server.start();
    return `the server was away for ${Math.round(ms)} ms and a start`;
  };

export const processFaults: Readonly<Record<string, Fault>> = {
  async kill(stage) {
    const worker = await busyWorker(stage);
    const end = await worker.end("SIGKILL");
    if (end !== "SIGKILL") throw new Error(`${worker.name} ended with ${end} before it was killed`);
    return worker.name;
  },
  async "stop gently"(stage) {
    const worker = await busyWorker(stage);
    const end = await worker.end("SIGTERM");
    return `${worker.name} ended with ${end}`;
  },
  async "freeze shortly"(stage) {
    const worker = await busyWorker(stage);
    const ms = short(stage);
    await worker.freeze(ms);
    return `${worker.name} for ${Math.round(ms)} ms`;
  },
  async "freeze beyond the lease"(stage) {
    const worker = await busyWorker(stage);
    const ms = long(stage);
    await worker.freeze(ms);
    return `${worker.name} for ${Math.round(ms)} ms`;
  },
};

export const networkFaults: Readonly<Record<string, Fault>> = {
  async cut(stage) {
    const proxies = someProxies(stage);
    const connections = proxies.reduce((sum, proxy) => sum + proxy.connections, 0);
    for (const proxy of proxies) proxy.cut();
    return `${connections} connections`;
  },
  async "lose answers"(stage) {
    const [proxies, ms] = [someProxies(stage), short(stage)];
    for (const proxy of proxies) proxy.swallowReplies(true);
    await sleep(ms);
    for (const proxy of proxies) {
      proxy.cut();
      proxy.swallowReplies(false);
    }
    return `${proxies.length} processes for ${Math.round(ms)} ms`;
  },
  async "black hole"(stage) {
    const proxies = someProxies(stage);
    const ms = stage.random.next() < 0.5 ? short(stage) : long(stage);
    for (const proxy of proxies) proxy.blackhole(true);
    await sleep(ms);
    for (const proxy of proxies) proxy.blackhole(false);
    return `${proxies.length} processes for ${Math.round(ms)} ms`;
  },
  async refuse(stage) {
    const proxies = someProxies(stage);
    const ms = stage.random.next() < 0.5 ? short(stage) : long(stage);
    for (const proxy of proxies) await proxy.refuse(true);
    await sleep(ms);
    for (const proxy of proxies) await proxy.refuse(false);
    return `${proxies.length} processes for ${Math.round(ms)} ms`;
  },
  async "end backends"({ random, pool }) {
    const { rowCount } = await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity " +
        "where datname = current_database() and pid <> pg_backend_pid() and random() < $1",
      [random.pick([0.1, 0.5, 1])],
    );
    if (!rowCount) throw new Error("nobody was connected");
    return `${rowCount} of them`;
  },
  "restart, fast": restart("fast"),
  "restart, immediate": restart("immediate"),
  "restart, killed": restart("kill"),
};

/**
 * Faults one after another: a round of all kinds in a random order, and another one, while `goOn(rounds)`.
 *
 * @returns how often each kind happened.
 */
export async function chaos(
  stage: Stage,
  faults: Readonly<Record<string, Fault>>,
  goOn: (rounds: number) => boolean,
): Promise<Map<string, number>> {
  const happened = new Map<string, number>();
  for (let rounds = 0; goOn(rounds); rounds++) {
    for (const [name, fault] of stage.random.shuffled(Object.entries(faults))) {
      await sleep(stage.random.between(200, 2_000));
      stage.log(`${name}: ${await retried(() => fault(stage))}`);
      happened.set(name, (happened.get(name) ?? 0) + 1);
      if (rounds > 0 && !goOn(rounds)) break;
    }
  }
  return happened;
}

/** Faults come at the same time as others, and each kind is to happen. */
async function retried(work: () => Promise<string>): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(500);
    }
  }
}
