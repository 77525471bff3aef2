import { setTimeout as sleep } from "node:timers/promises";
import { task, type JobContext, type PgStore, type PgTx, type TaskMap } from "../../src/index.js";
import { leaseMs, type SoakPayload } from "./jobs.js";

/** The handlers of the soak. Each effect is a row of a table that would take it twice. */
export function soakTasks(store: PgStore): TaskMap {
  const effect =
    (job: JobContext, name = "done") =>
    async ({ client }: PgTx): Promise<void> => {
      await client.query("insert into soak_effect (job, effect, fence, pid) values ($1, $2, $3, $4)", [
        job.id,
        name,
        job.fence,
        process.pid,
      ]);
    };
  const work = (payload: SoakPayload): Promise<void> => sleep(payload.ms ?? 0);
  const once = async (payload: SoakPayload, job: JobContext): Promise<void> => {
    await work(payload);
    await job.once(effect(job));
  };
  const retryDelay = (): number => 100;

  return {
    once: task({ retryDelay, handler: once }),
    order: task({ retryDelay, handler: once }),
    capped: task({ retryDelay, handler: once }),
    flaky: task({
      retryDelay,
      async handler(payload: SoakPayload, job) {
        await work(payload);
        if (job.attempt < (payload.failures ?? 0)) throw new Error(`attempt ${job.attempt} is to fail`);
        await job.once(effect(job));
      },
    }),
    rated: task({
      retryDelay,
      async handler(payload: SoakPayload, job) {
        if (payload.n % 20 === 0 && job.fence === 1n) return job.rateLimited(200);
        return once(payload, job);
      },
    }),
    batch: task({
      retryDelay,
      batch: { maxSize: 8, maxDelay: 50 },
      batchHandler: (batch: readonly { payload: SoakPayload; job: JobContext }[]) =>
        Promise.all(
          batch.map(({ job }) =>
            job
              .once(effect(job))
              .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
          ),
        ),
    }),
    // The event loop stands still for longer than the lease lasts, and nothing is renewed meanwhile.
    blocking: task({
      retryDelay,
      async handler(payload: SoakPayload, job) {
        const until = performance.now() + 1.3 * leaseMs;
        while (performance.now() < until);
        await job.once(effect(job));
      },
    }),
    // An effect in a transaction of its own, and the end of the job in another.
    manual: task({
      retryDelay,
      async handler(payload: SoakPayload, job) {
        await work(payload);
        await store.transaction(async (tx) => {
          if (await store.claimEffect(tx, `manual/${job.id}`)) await effect(job)(tx);
        });
        return { fence: String(job.fence) };
      },
    }),
    steps: task({
      retryDelay,
      async handler(payload: SoakPayload, job) {
        await job.stepOnce("first", effect(job, "first"));
        await job.step("between", () => work(payload));
        await job.stepOnce("second", effect(job, "second"));
      },
    }),
  };
}
