// The systems compared, each at the settings that its documentation recommends for throughput. A job's payload is
// { i } or { at }: the time of its enqueue where the latency is measured. Of Headrace, like of the others, what is built is
// measured (npm run build), not the sources on their way through a loader.
import { Worker, PgStore, Client, migrate, task } from "../../dist/index.js";
import { makeWorkerUtils, run, Logger } from "graphile-worker";
import pg from "pg";
import PgBoss from "pg-boss";

/** A pool that does not mind that its database is dropped. */
function quietPool(url, max) {
  return new pg.Pool({ connectionString: url, max }).on("error", () => undefined);
}

export const systems = {
  headrace: {
    async open(url) {
      const pool = quietPool(url, 5);
      await migrate({ pool, schema: "headrace" });
      const client = new Client(new PgStore(pool, { schema: "headrace", prepared: true }), {
        tasks: { noop: task({}) },
      });
      return {
        one: (payload) => client.enqueue("noop", payload),
        many: (payloads) => client.enqueueMany(payloads.map((payload) => ({ kind: "noop", payload }))),
        async unfinished() {
          const { rows } = await pool.query(
            "select exists (select from headrace.job where stage < 2) as left",
          );
          return rows[0].left;
        },
        close: () => pool.end(),
      };
    },
    async work(url, started) {
      const store = await PgStore.connect(url, {
        schema: "headrace",
        maxSize: 4,
        listen: true,
        prepared: true,
      });
      const worker = new Worker(store, {
        tasks: { noop: task({ handler: ({ at }) => started(at) }) },
        concurrency: 500,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      await worker.start();
      return async () => {
        await worker.stop();
        await store.close();
      };
    },
  },

  "graphile-worker": {
    async open(url) {
      const pool = quietPool(url, 5);
      const utils = await makeWorkerUtils({ pgPool: pool });
      await utils.migrate();
      return {
        one: (payload) => utils.addJob("noop", payload),
        many: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "noop", payload }))),
        async unfinished() {
          const { rows } = await pool.query(
            "select exists (select from graphile_worker._private_jobs) as left",
          );
          return rows[0].left;
        },
        async close() {
          await utils.release();
          await pool.end();
        },
      };
    },
    async work(url, started) {
      const runner = await run({
        connectionString: url,
        logger: new Logger(() => () => undefined),
        noHandleSignals: true,
        taskList: { noop: ({ at }) => started(at) },
        preset: {
          worker: {
            concurrentJobs: 24,
            maxPoolSize: 25,
            pollInterval: 2000,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      });
      return () => runner.stop();
    },
  },

  "pg-boss": {
    async open(url) {
      const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
      boss.on("error", console.error);
      await boss.start();
      await boss.createQueue("noop");
      const pool = quietPool(url, 2);
      return {
        one: (payload) => boss.send("noop", payload),
        many: (payloads) => boss.insert(payloads.map((data) => ({ name: "noop", data }))),
        async unfinished() {
          const { rows } = await pool.query(
            "select exists (select from pgboss.job where state < 'completed') as left",
          );
          return rows[0].left;
        },
        async close() {
          await boss.stop({ graceful: false });
          await pool.end();
        },
      };
    },
    async work(url, started) {
      const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
      boss.on("error", console.error);
      await boss.start();
      let stopped = false;
      // Its own loop sleeps between batches; fetch and complete in turn is what it does fastest.
      const loop = (async () => {
        while (!stopped) {
          const jobs = await boss.fetch("noop", { batchSize: 500 });
          for (const job of jobs) started(job.data.at);
          if (jobs.length > 0)
            await boss.complete(
              "noop",
              jobs.map(({ id }) => id),
            );
          else await new Promise((resolve) => setTimeout(resolve, 20));
        }
      })();
      return async () => {
        stopped = true;
        await loop;
        await boss.stop({ graceful: false });
      };
    },
  },
};
