import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Client, task, type JobSummary, type StandardSchema } from "../../../src/index.js";
import { inPlace, until } from "../observe/support.js";

const jobClient = suite("the client of a handler");

const trace = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=opaque",
  baggage: "user=ada",
};

const numbers: StandardSchema<{ n: number }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof (value as { n?: unknown }).n === "number"
        ? { value: value as { n: number } }
        : { issues: [{ message: "must be a number", path: ["n"] }] },
  },
};

jobClient("hands the trace of its job on, and nothing else of its headers", () =>
  inPlace(async ({ store, run }) => {
    const client = new Client(store, { defaults: { retention: "1h" } });
    const worker = await run({
      parent: async (_: unknown, job) => {
        await job.client.enqueue("child", {}, { id: "child", delay: "1h" });
        await job.client.enqueue("other", {}, { id: "other", delay: "1h", headers: { traceparent: "own" } });
        assert.is(job.client, job.client);
      },
    });
    const told: number[] = [];
    worker.client.on("enqueue:after", ({ batch }) => void told.push(batch.length));
    await client.enqueue("parent", {}, { headers: { ...trace, secret: "s" } });
    await until("both", async () => store.getJob("other"));
    const headers = async (id: string): Promise<JobSummary["headers"]> =>
      (await store.getJob(id, true))!.headers;
    assert.equal(await headers("child"), trace);
    assert.equal(await headers("other"), { traceparent: "own" });
    assert.equal(told, [1, 1]);
    const { id } = await client.enqueue("parent", {});
    await until("the end", async () => (await store.getJob(id))?.state === "completed");
  }),
);

jobClient("enqueues in the transaction of once and stepOnce, and outside of them by itself", () =>
  inPlace(async ({ store, run, database }) => {
    const client = new Client(store, { defaults: { retention: "1h", maxAttempts: 1 } });
    const inside: boolean[] = [];
    await run({
      once: async (payload: unknown, job) => {
        const { fail } = payload as { fail: boolean };
        await job.client.enqueue("next", {}, { id: `${job.id}-before`, delay: "1h" });
        await job.once(async (transaction) => {
          await job.client.enqueue("next", {}, { id: `${job.id}-inside`, delay: "1h" });
          const { rows } = await database.pool.query(database.sql("select from :SCHEMA.jobs where id = $1"), [
            `${job.id}-inside`,
          ]);
          inside.push(rows.length === 0);
          await transaction.client.query("select 1");
          if (fail) throw new Error("rolled back");
        });
        await job.client.enqueue("next", {}, { id: `${job.id}-behind`, delay: "1h" });
      },
      step: async (payload: unknown, job) => {
        const { fail } = payload as { fail: boolean };
        // Beside the transaction, though at the same time.
        const beside = job.client.enqueue("next", {}, { id: `${job.id}-beside`, delay: "1h" });
        await job.stepOnce("a", async () => {
          await job.client.enqueueMany([{ kind: "next", options: { id: `${job.id}-inside`, delay: "1h" } }]);
          if (fail) throw new Error("rolled back");
        });
        await beside;
      },
    });
    for (const [kind, others] of [
      ["once", ["before", "behind"]],
      ["step", ["beside"]],
    ] as const) {
      for (const fail of [false, true]) {
        const { id } = await client.enqueue(kind, { fail }, { id: `${kind}-${fail}` });
        await until(`the end of ${id}`, async () =>
          ["completed", "archived"].includes((await store.getJob(id))!.state),
        );
        const there = async (suffix: string): Promise<boolean> =>
          (await store.getJob(`${id}-${suffix}`)) !== null;
        assert.is(await there("inside"), !fail, `${id} inside`);
        await until(`${id} ${others[0]}`, () => there(others[0]));
        if (others[1]) {
          if (!fail) await until("behind", () => there("behind"));
          else assert.is(await there("behind"), false);
        }
      }
    }
    assert.equal(inside, [true, true]);
  }),
);

jobClient("waits for no job in a transaction, and for one outside of it", () =>
  inPlace(async ({ store, run }) => {
    const errors: unknown[] = [];
    await run({
      outer: async (_: unknown, job) => {
        const { result } = await job.client.enqueueAndWait("inner");
        await job.once(async () => {
          await job.client.enqueueAndWait("inner").catch((error: unknown) => errors.push(error));
        });
        assert.is(result, 42);
      },
      inner: () => 42,
    });
    const { state } = await new Client(store).enqueueAndWait("outer");
    assert.is(state, "completed");
    assert.is((errors[0] as { code: string }).code, "invalid");
  }),
);

jobClient("knows the tasks of its worker: schema, version and codec", () =>
  inPlace(async ({ store, run }) => {
    const tasks = {
      parent: async (payload: unknown, job: { client: Client }) => {
        await job.client.enqueue("typed", payload, { id: "typed", delay: "1h" });
      },
      typed: task<{ n: number }>({ schema: numbers, version: 4, handler: () => 1 }),
    };
    await run(tasks);
    const client = new Client(store, { defaults: { maxAttempts: 1 } });
    const bad = await client.enqueueAndWait("parent", { n: "one" });
    assert.is(bad.state, "archived");
    assert.match((await store.listAttempts(bad.id))[0]?.error ?? "", "must be a number");
    assert.is((await client.enqueueAndWait("parent", { n: 1 })).state, "completed");
    assert.is((await store.getJob("typed"))?.schemaVersion, 4);
  }),
);

jobClient.run();
