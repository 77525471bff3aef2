import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { LeaseLostError, StoreError, task, type JobContext, type PgTx } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { workerSuite, type Setting } from "./support.js";

const test = workerSuite("effects");

const table = (setting: Setting): Promise<unknown> =>
  setting.database.pool.query("create table done (what text not null)");
const insert = (tx: PgTx, what: string): Promise<unknown> =>
  tx.client.query("insert into done values ($1)", [what]);
const done = async (setting: Setting): Promise<string[]> =>
  (await setting.database.pool.query<{ what: string }>("select what from done order by what")).rows.map(
    ({ what }) => what,
  );

const refusal = async (work: () => unknown): Promise<Error> => {
  try {
    await work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("was not refused");
};

/** Takes the job away from its holder, as the reclaimer would, or an operator. */
const steal = {
  cancel: ({ store }: Setting, id: string) => store.operatorCancel(id),
  async reclaim({ database, store }: Setting, id: string): Promise<void> {
    await database.query(
      "update :SCHEMA.lease set expires_at_ms = 0 where lease_no = (select lease_no from :SCHEMA.job where key = :SCHEMA.job_key($1))",
      [id],
    );
    await eventually("reclaimed", async () => {
      await store.reclaimExpired(100);
      return (await store.getJob(id))?.state !== "running";
    });
  },
};

test("once: effect and completion are one commit, and the rest of the handler loses nothing", async (setting) => {
  await table(setting);
  const events: string[] = [];
  let after: Error | undefined;
  const one = await setting.run(
    {
      once: async (_: unknown, job) => {
        assert.ok(await job.once(async (tx) => void (await insert(tx, "effect"))));
        // Renewals that are answered now find no lease.
        await sleep(1_500);
        assert.not.ok(job.signal.aborted);
        after = await refusal(() => job.progress(1, 1));
        return "not kept";
      },
    },
    { lease: "1s", duties: false },
  );
  one.on("job:lost", () => events.push("lost"));
  one.on("job:settled", ({ state }) => events.push(state));
  const id = await setting.put("once");
  await eventually("settled", () => events.length > 0);
  assert.equal(events, ["completed"]);
  assert.is((await setting.store.getJob(id))?.state, "completed");
  assert.equal(await done(setting), ["effect"]);
  assert.match(after?.message ?? "", /is completed; nothing more can be written/);
});

test("once: job:settled tells of a job without retention that it is deleted, with logs, a result or neither", async (setting) => {
  await table(setting);
  const states: string[] = [];
  const one = await setting.run({
    once: async ({ what }: { what: string }, job) => {
      if (what === "log") job.log.info("noted");
      await job.once(async (tx) => (await insert(tx, what), what === "result" ? what : undefined));
    },
  });
  one.on("job:settled", ({ state }) => states.push(state));
  for (const what of ["log", "nothing", "result"]) {
    const id = await setting.put("once", { what }, { retention: 0 });
    await eventually("settled", () => states.length > 0);
    assert.equal(states.splice(0), ["deleted"], what);
    assert.is(await setting.store.getJob(id), null);
  }
  assert.equal(await done(setting), ["log", "nothing", "result"]);
});

test("once: a handler that fails behind the completion does not undo it", async (setting) => {
  await table(setting);
  await setting.run({
    once: async (_: unknown, job) => {
      await job.once(async (tx) => void (await insert(tx, "effect")));
      throw new Error("behind it");
    },
  });
  const id = await setting.put("once", {}, { maxAttempts: 1 });
  await setting.until(id, "completed");
  assert.equal(await done(setting), ["effect"]);
});

test("once: the result and the logs are part of the commit", async (setting) => {
  await table(setting);
  const upper = {
    encode: (value: unknown) => Buffer.from(String(value).toUpperCase()),
    decode: (bytes: Uint8Array) => Buffer.from(bytes).toString(),
  };
  const behind = async (job: JobContext, value: unknown): Promise<string> => {
    job.log.info("on the way");
    await job.once(async (tx) => (await insert(tx, job.kind), value));
    job.log.info("too late");
    return "not kept";
  };
  await setting.run({
    json: (_: unknown, job: JobContext) => behind(job, { n: 1 }),
    other: task({
      version: 2,
      upcasters: { 1: (payload) => payload },
      codec: upper,
      handler: (_, job) => behind(job, "loud"),
    }),
    bare: (_: unknown, job: JobContext) => behind(job, undefined),
  });
  const left: unknown[] = [];
  for (const kind of ["json", "other", "bare"]) {
    const id = await setting.put(kind);
    await setting.until(id, "completed");
    const result = await setting.store.getJobResult(id);
    left.push(result && [result.schemaVersion, Buffer.from(result.bytes).toString()]);
    const [attempt] = await setting.store.listAttempts(id);
    assert.equal([attempt?.outcome, attempt?.logs], ["success", ["info: on the way"]]);
  }
  assert.equal(left, [[1, '{"n":1}'], [2, "LOUD"], null]);
  assert.equal(await done(setting), ["bare", "json", "other"]);
});

test("once: a result that can't be kept undoes the effect", async (setting) => {
  await table(setting);
  await setting.run({
    big: async (_: unknown, job) => {
      await job.once(async (tx) => (await insert(tx, "effect"), 1n));
    },
  });
  const id = await setting.put("big", {}, { maxAttempts: 1 });
  await setting.until(id, "archived");
  assert.match((await setting.store.listAttempts(id))[0]?.error ?? "", /the result can't be stored/);
  assert.equal(await done(setting), []);
});

for (const [how, take] of Object.entries(steal)) {
  test(`once: a lease that was lost meanwhile (${how}) rolls everything back`, async (setting) => {
    await table(setting);
    const seen: Error[] = [];
    const lost: string[] = [];
    const one = await setting.run(
      {
        once: async (_: unknown, job) => {
          if (seen.length > 0) return;
          const work = async (tx: PgTx): Promise<void> => {
            await insert(tx, "effect");
            await take(setting, job.id);
          };
          seen.push(await refusal(() => job.once(work)));
          seen.push(await refusal(() => job.once(work)));
        },
      },
      { duties: false },
    );
    one.on("job:lost", ({ job }) => lost.push(job.id));
    const id = await setting.put("once");
    await eventually("refused", () => seen.length === 2);
    assert.ok(seen.every((error) => error instanceof LeaseLostError));
    assert.equal(await done(setting), []);
    assert.equal(lost, [id]);
    assert.not.ok(["completed", "archived"].includes((await setting.store.getJob(id))?.state ?? ""));
  });

  test(`stepOnce: a lease that was lost meanwhile (${how}) rolls everything back`, async (setting) => {
    await table(setting);
    const seen: Error[] = [];
    await setting.run(
      {
        steps: async (_: unknown, job) => {
          if (seen.length > 0) return;
          const work = async (tx: PgTx): Promise<void> => {
            await insert(tx, "effect");
            await take(setting, job.id);
          };
          seen.push(await refusal(() => job.stepOnce("one", work)));
        },
      },
      { duties: false },
    );
    const id = await setting.put("steps");
    await eventually("refused", () => seen.length === 1);
    assert.instance(seen[0], LeaseLostError);
    assert.equal(await done(setting), []);
    const { rows } = await setting.database.pool.query(
      setting.database.sql("select effect_key from :SCHEMA.effect"),
    );
    assert.equal(rows, []);
    assert.equal((await setting.store.getJobCheckpoint(id))?.checkpoint.completed ?? [], []);
  });
}

test("once: the work's own failure leaves nothing, and the next attempt does it", async (setting) => {
  await table(setting);
  const answers: boolean[] = [];
  await setting.run({
    once: task({
      retryDelay: () => 0,
      async handler(_: unknown, job) {
        answers.push(
          await job.once(async (tx) => {
            await insert(tx, `attempt ${job.attempt}`);
            if (job.attempt === 0) throw new Error("no");
          }),
        );
      },
    }),
  });
  const id = await setting.put("once");
  await setting.until(id, "completed");
  assert.equal(await done(setting), ["attempt 1"]);
  assert.equal(answers, [true]);
});

test("once: what another holder has committed is not done again", async (setting) => {
  await table(setting);
  await setting.store.transaction(async (tx) => {
    assert.ok(await setting.store.claimEffect(tx, "mine"));
  });
  const answers: boolean[] = [];
  await setting.run({
    once: async (_: unknown, job) => {
      answers.push(await job.once(async (tx) => void (await insert(tx, "again"))));
    },
  });
  const id = await setting.put("once", {}, { id: "mine" });
  await setting.until(id, "completed");
  assert.equal(answers, [false]);
  assert.equal(await done(setting), []);
});

test("stepOnce: effect and record are one commit, and the job goes on", async (setting) => {
  await table(setting);
  const ran: string[] = [];
  await setting.run({
    steps: task({
      retryDelay: () => 0,
      async handler(_: unknown, job: JobContext) {
        await job.step("before", () => void ran.push("before"));
        ran.push(`pay: ${await job.stepOnce("pay", async (tx) => void (await insert(tx, "paid")))}`);
        if (job.attempt === 0) throw new Error("died");
        await job.step("after", () => void ran.push("after"));
      },
    }),
  });
  const id = await setting.put("steps");
  await setting.until(id, "completed");
  assert.equal(ran, ["before", "pay: true", "pay: false", "after"]);
  assert.equal(await done(setting), ["paid"]);
  assert.equal((await setting.store.getJobCheckpoint(id))?.checkpoint.completed, ["before", "pay", "after"]);
});

for (const goesOn of [true, false]) {
  test(`stepOnce: a commit that fails has not happened (${goesOn ? "later writes" : "nobody"} after it)`, async (setting) => {
    await table(setting);
    await setting.database.pool.query("alter table done add unique (what) deferrable initially deferred");
    await setting.run({
      steps: task({
        retryDelay: () => 0,
        async handler(_: unknown, job: JobContext) {
          const pay = (): Promise<boolean> =>
            job.stepOnce("pay", async (tx) => {
              await insert(tx, `attempt ${job.attempt}`);
              // Found out at the commit only.
              if (job.attempt === 0) await insert(tx, `attempt ${job.attempt}`);
            });
          if (job.attempt === 0 && goesOn) await refusal(pay);
          else await pay();
          await job.step("after", () => 1);
          await job.saveCursor(job.attempt);
          if (job.attempt === 0) throw new Error("once more");
        },
      }),
    });
    const id = await setting.put("steps");
    await setting.until(id, "completed");
    assert.equal(await done(setting), ["attempt 1"]);
    assert.is((await setting.store.getJob(id))?.attempt, 1);
  });
}

test("steps and effects side by side lose nothing", async (setting) => {
  await table(setting);
  const names = ["a", "b", "c", "d", "e"];
  await setting.run({
    steps: task({
      retryDelay: () => 0,
      async handler(_: unknown, job: JobContext) {
        await Promise.all(
          names.flatMap((name) => [
            job.stepOnce(`once ${name}`, async (tx) => void (await insert(tx, name))),
            job.step(`step ${name}`, () => name),
            job.progress(1, 2),
          ]),
        );
        if (job.attempt < 2) throw new Error("again");
      },
    }),
  });
  const id = await setting.put("steps");
  await setting.until(id, "completed");
  assert.equal(await done(setting), names);
  const completed = (await setting.store.getJobCheckpoint(id))?.checkpoint.completed ?? [];
  assert.is(completed.length, 10);
});

test("the lost lease of another job is not this one's", async (setting) => {
  const [other] = await setting.store.enqueue([{ kind: "other", queue: "elsewhere" }]);
  const [claim] = await setting.store.admit({ worker: "w", queues: ["elsewhere"] });
  assert.ok(claim && other);
  await setting.store.operatorCancel(claim.id);
  const seen: Error[] = [];
  await setting.run({
    both: async (_: unknown, job) => {
      seen.push(await refusal(() => job.once((tx) => setting.store.completeTx(tx, claim))));
      assert.not.ok(job.signal.aborted);
      await job.progress(1, 1);
    },
  });
  await setting.until(await setting.put("both"), "completed");
  assert.ok(seen[0] instanceof StoreError && seen[0].code === "lease_rejected");
});

test("handlers in transactions never take the connections of the worker itself (R-18)", async (setting) => {
  await table(setting);
  let inside = 0;
  let most = 0;
  await setting.run(
    {
      once: async (payload: unknown, job) => {
        await job.once(async (tx) => {
          most = Math.max(most, ++inside);
          await insert(tx, String(payload).padStart(2, "0"));
          await sleep(700);
          inside--;
        });
      },
    },
    { lease: "500ms", concurrency: 12, maxTransactions: 3 },
  );
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => setting.put("once", n)));
  for (const id of ids) await setting.until(id, "completed");
  assert.is(most, 3);
  assert.is((await done(setting)).length, 12);
  for (const id of ids) assert.is((await setting.store.getJob(id))?.crashAttempt, 0);
});

test("effects of different jobs never have one name", async (setting) => {
  await table(setting);
  const insertId = (_: unknown, job: JobContext): Promise<boolean> =>
    job.once(async (tx) => void (await insert(tx, `once ${job.id}`)));
  await setting.run({
    step: async (_: unknown, job) => {
      await job.stepOnce("pay", async (tx) => void (await insert(tx, `step of ${job.id}`)));
      await job.stepOnce("/pay", async (tx) => void (await insert(tx, `other step of ${job.id}`)));
    },
    once: insertId,
  });
  await setting.until(await setting.put("step", {}, { id: "order" }), "completed");
  for (const id of ["order/pay", "order//pay", "order~1pay"])
    await setting.until(await setting.put("once", {}, { id }), "completed");
  assert.equal(
    await done(setting),
    ["once order//pay", "once order/pay", "once order~1pay", "other step of order", "step of order"].sort(),
  );
});

test("once and stepOnce within each other are refused, and do not wait for each other for ever", async (setting) => {
  await table(setting);
  const seen: string[] = [];
  await setting.run(
    {
      nested: async (_: unknown, job) => {
        const inner = async (tx: PgTx): Promise<void> => void (await insert(tx, "inner"));
        await job.stepOnce("outer", async (tx) => {
          await insert(tx, "outer");
          seen.push((await refusal(() => job.once(inner))).message);
          seen.push((await refusal(() => job.stepOnce("inner", inner))).message);
        });
        await job.stepOnce("inner", inner);
      },
    },
    { maxTransactions: 1 },
  );
  await setting.until(await setting.put("nested"), "completed");
  assert.equal(seen, Array(2).fill("once and stepOnce can't be called within each other"));
  assert.equal(await done(setting), ["inner", "outer"]);
});

test.run();
