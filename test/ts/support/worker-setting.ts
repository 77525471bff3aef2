import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  Client,
  jsonLogger,
  PgStore,
  Worker,
  type ConnectOptions,
  type TaskMap,
  type WorkerOptions,
} from "../../../src/index.js";
import { testDatabase, type TestDatabase } from "./database.js";
import { startProxy, type Proxy } from "./proxy.js";
import { workerProcesses, type WorkerProcesses } from "./worker-processes.js";

export interface WorkerSetting {
  readonly database: TestDatabase;
  readonly store: PgStore;
  readonly client: Client;
  /** Another store, on a pool of its own; closed in the end. */
  connect(url: string, options?: ConnectOptions): PgStore;
  /** A proxy before the database; closed in the end. */
  proxy(): Promise<Proxy>;
  /** Starts a worker of this process, which is stopped in the end. */
  run(tasks: TaskMap, options?: Partial<WorkerOptions> & { readonly on?: PgStore }): Promise<Worker>;
  /** For processes that run these modules; they are killed in the end. */
  processes(
    tasks: Readonly<Record<string, string>>,
    nodeArguments?: readonly string[],
  ): Promise<WorkerProcesses>;
  /** Waits until the job is in one of the states; "deleted" where there is none any more. */
  until(id: string, ...states: string[]): Promise<void>;
  /** The jobs in `effect`, in order of their insertion. */
  effects(): Promise<string[]>;
}

/** A handler's effect, for modules of worker processes: `await job.once((tx) => effect(tx, job))` leaves a row. */
export const effectModule =
  "const effect = ({ client }, job) => client.query('insert into effect (job) values ($1)', [job.id]);\n";

/** Runs a test on a database of its own, and cleans up behind it. */
export async function withWorkers(
  body: (setting: WorkerSetting) => Promise<void>,
  given?: TestDatabase,
): Promise<void> {
  const database = given ?? (await testDatabase());
  await database.pool.query("create table effect (no integer generated always as identity, job text)");
  const store = new PgStore(database.pool, { schema: database.schema });
  const ends: (() => Promise<unknown>)[] = [];
  try {
    await body({
      database,
      store,
      client: new Client(store),
      connect(url, { maxSize = 10, listen = false, ...options } = {}) {
        const pool = new pg.Pool({ connectionString: url, max: maxSize, connectionTimeoutMillis: 5_000 });
        const made = new PgStore(pool, { schema: database.schema, ...options });
        if (listen)
          made.withListen(url, { heartbeatMs: 1_000, answerMs: 1_000, minRetryMs: 100, maxRetryMs: 500 });
        ends.push(async () => {
          await made.close();
          await pool.end();
        });
        return made;
      },
      async proxy() {
        const made = await startProxy(database.url);
        ends.push(() => made.close());
        return made;
      },
      async run(tasks, { on = store, ...options } = {}) {
        const made = new Worker(on, { tasks, logger: jsonLogger("silent"), ...options });
        ends.push(() => made.stop({ mode: "abort" }));
        await made.start();
        return made;
      },
      async processes(tasks, nodeArguments = []) {
        const made = await workerProcesses({
          url: database.url,
          schema: database.schema,
          tasks,
          nodeArguments,
        });
        ends.push(() => made.close());
        return made;
      },
      async until(id, ...states) {
        for (let tries = 0; ; tries++) {
          const state = (await store.getJob(id))?.state ?? "deleted";
          if (states.includes(state)) return;
          if (tries > 3_000) throw new Error(`${id} is ${state}, not ${states.join(" or ")}`);
          await sleep(20);
        }
      },
      async effects() {
        const rows = await database.query<{ job: string }>("select job from effect order by no");
        return rows.map(({ job }) => job);
      },
    });
  } finally {
    // Workers first, then what they stand on.
    for (const end of ends.reverse()) await end().catch(() => undefined);
  }
  if (!given) await database.close();
}
