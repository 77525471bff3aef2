import { suite } from "uvu";
import {
  Client,
  jsonLogger,
  PgStore,
  Worker,
  type EnqueueOptions,
  type TaskMap,
  type WorkerOptions,
} from "../../../src/index.js";
import { testDatabase, type TestDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";

export const silent = jsonLogger("silent");
/** What a test enqueues is to be seen when it has ended well. */
export const kept = { retention: "1h" } as const;

export interface Setting {
  readonly database: TestDatabase;
  readonly store: PgStore;
  readonly client: Client;
  /** Starts a worker, which is stopped behind the test. */
  run(tasks: TaskMap, options?: Partial<WorkerOptions>): Promise<Worker>;
  /** Enqueues a job that is kept when it has ended well, and answers with its id. */
  put(kind: string, payload?: unknown, options?: EnqueueOptions): Promise<string>;
  /** Waits until the job is in one of the states; "deleted": it is gone. */
  until(id: string, ...states: string[]): Promise<void>;
}

export interface WorkerSuite {
  /** Each test on a database of its own. */
  (name: string, body: (setting: Setting) => Promise<void>): void;
  run(): void;
}

export function workerSuite(title: string): WorkerSuite {
  const tests = suite(title);
  const test = (name: string, body: (setting: Setting) => Promise<void>): void => {
    tests(name, () => withSetting(body));
  };
  return Object.assign(test, { run: () => void tests.run() });
}

async function withSetting(body: (setting: Setting) => Promise<void>): Promise<void> {
  const database = await testDatabase();
  const store = new PgStore(database.pool, { schema: database.schema });
  const client = new Client(store);
  const workers: Worker[] = [];
  try {
    await body({
      database,
      store,
      client,
      async run(tasks, options = {}) {
        const made = new Worker(store, { tasks, logger: silent, ...options });
        workers.push(made);
        await made.start();
        return made;
      },
      async put(kind, payload = {}, options = {}) {
        return (await client.enqueue(kind, payload, { ...kept, ...options })).id;
      },
      async until(id, ...states) {
        let state = "";
        const there = async (): Promise<boolean> => {
          state = (await store.getJob(id))?.state ?? "deleted";
          return states.includes(state);
        };
        await eventually(`${id} is ${states.join(" or ")}`, there, 30_000).catch((error: unknown) => {
          throw new Error(`${String(error)}, it is ${state}`);
        });
      },
    });
  } finally {
    await Promise.all(workers.map((one) => one.stop({ mode: "abort" })));
  }
  await database.close();
}
