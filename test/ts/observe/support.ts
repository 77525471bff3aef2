import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import {
  PgStore,
  Worker,
  type LogFields,
  type Logger,
  type TaskMap,
  type WorkerOptions,
} from "../../../src/index.js";
import { testDatabase, type TestDatabase } from "../support/database.js";

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that keeps its lines. */
export function memoryLogger(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

export interface Place {
  readonly database: TestDatabase;
  readonly store: PgStore;
  run(tasks: TaskMap, options?: Partial<WorkerOptions>): Promise<Worker>;
}

/** A database of its own and workers that are stopped behind the test. */
export async function inPlace(work: (place: Place) => Promise<void>): Promise<void> {
  const database = await testDatabase();
  const store = new PgStore(database.pool, { schema: database.schema });
  const workers: Worker[] = [];
  try {
    await work({
      database,
      store,
      async run(tasks, options = {}) {
        const { logger } = memoryLogger();
        const worker = new Worker(store, { tasks, logger, poll: { min: 10, max: 50 }, ...options });
        workers.push(worker);
        await worker.start();
        return worker;
      },
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop({ mode: "abort" })));
  }
  await database.close();
}

export async function until(what: string, is: () => unknown): Promise<void> {
  for (let tries = 0; tries < 1500; tries++) {
    if (await is()) return;
    await sleep(20);
  }
  assert.unreachable(`never: ${what}`);
}
