import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Client, jsonLogger, PgStore, task, Worker } from "../../../src/index.js";
import { startProxy } from "../support/proxy.js";
import { inPlace, memoryLogger, until } from "./support.js";

const logs = suite("what a worker tells");

logs("warns once of kinds that wait in its queues and have no task", () =>
  inPlace(async ({ store, run }) => {
    const client = new Client(store);
    await client.enqueue("stray", {}, { queue: "a" });
    await client.enqueue("later", {}, { queue: "a", delay: "1h" });
    await client.enqueue("known", {}, { queue: "a", delay: "1h" });
    await client.enqueue("old-name", {}, { queue: "b", delay: "1h" });
    await client.enqueue("elsewhere", {}, { queue: "c" });
    const { lines, logger } = memoryLogger();
    const tasks = { known: task({ aliases: ["old-name"], handler: () => 1 }), later: task({}) };
    const worker = new Worker(store, { tasks, queues: ["a", "b"], logger });
    const told: unknown[] = [];
    worker.on("worker:unhandled", (event) => void told.push(event));
    await worker.start();
    await until("the warning", () => told.length);
    assert.equal(told, [{ workerId: worker.workerId, kinds: ["later", "stray"] }]);
    const warnings = lines.filter(({ fields }) => fields["kinds"]);
    assert.equal(
      warnings.map(({ level, fields }) => [level, fields["kinds"]]),
      [["warn", ["later", "stray"]]],
    );
    await worker.stop();
    const quiet = memoryLogger();
    await run({ known: () => 1 }, { queues: ["d"], logger: quiet.logger });
    const silent = await run({ known: () => 1 }, { queues: ["b"], logger: quiet.logger });
    await until("ready", () => silent.status().ready);
    await silent.stop();
  }),
);

logs("starts and works where that question hangs or fails", () =>
  inPlace(async ({ store, run }) => {
    for (const answer of [
      () => new Promise<string[]>(() => undefined),
      () => Promise.reject(new Error("no")),
    ]) {
      store.distinctKinds = answer;
      const { lines, logger } = memoryLogger();
      const worker = await run({ known: () => 1 }, { logger });
      const done = await new Client(store).enqueueAndWait("known", {});
      assert.equal([done.state, done.result], ["completed", 1]);
      await worker.stop();
      assert.equal(
        lines.filter(({ level }) => level === "warn" || level === "error"),
        [],
      );
    }
  }),
);

logs("every line says which worker, and a line about a job which job", () =>
  inPlace(async ({ store, run, database }) => {
    const { lines, logger } = memoryLogger();
    const runDuties = store.runDuties.bind(store);
    store.runDuties = async (holder, options) =>
      (await runDuties(holder, options)).map((did) => ({ ...did, error: "no room" }));
    const worker = await run(
      {
        speak: (_: unknown, job) => {
          job.log.info("spoken", { color: "red", jobId: "another", kind: "another" });
        },
        fail: () => {
          throw new Error("broken");
        },
        behind: async (_: unknown, job) => {
          await job.once(async () => undefined);
          throw new Error("too late");
        },
        stick: () => new Promise(() => undefined),
        lose: async (_: unknown, job) => {
          await database.query("select :SCHEMA.operator_cancel($1)", [job.id]);
          await job.progress(1, 2).catch(() => undefined);
        },
      },
      { workerId: "w1", logger, stuckGrace: 10, queues: ["q"], lease: "3s" },
    );
    const client = new Client(store, { defaults: { queue: "q", retention: "1h" } });
    const ids: Record<string, string> = {};
    for (const [kind, options] of [
      ["speak", {}],
      ["fail", { maxAttempts: 2 }],
      ["stick", { timeout: 20, maxAttempts: 1 }],
      ["lose", {}],
      ["behind", {}],
      ["nobody", {}],
    ] as const) {
      ids[kind] = (await client.enqueue(kind, {}, options)).id;
    }
    await store.signalWorker("w1", "resume");
    const messages = {
      speak: ["spoken"],
      fail: ["an attempt failed", "a job will not run again"],
      stick: ["a handler does not stop", "a job will not run again"],
      behind: ["a handler failed behind the completion of its job"],
      lose: ["a lease is lost; what the handler still does does not count"],
      nobody: ["a job of an unknown kind is put off for other workers"],
    };
    const about = (kind: string): typeof lines => lines.filter(({ fields }) => fields["jobId"] === ids[kind]);
    for (const [kind, expected] of Object.entries(messages)) {
      for (const message of expected) {
        await until(`${kind}: ${message}`, () => about(kind).some((line) => line.message === message));
      }
      for (const { fields } of about(kind)) {
        assert.equal([fields["kind"], fields["queue"], fields["worker"]], [kind, "q", "w1"]);
        assert.type(fields["attempt"], "number");
      }
    }
    assert.is(about("speak")[0]?.fields["color"], "red");
    assert.equal(
      about("fail").map(({ level, fields }) => [level, fields["attempt"], fields["state"]]),
      [
        ["info", 0, "retryable"],
        ["warn", 1, "archived"],
      ],
    );
    await until("a duty", () => lines.some(({ fields }) => fields["duty"]));
    await until("the command", () => lines.some(({ fields }) => fields["command"] === "resume"));
    const duty = lines.find(({ fields }) => fields["duty"] === "reclaim_expired")!;
    assert.equal(
      [duty.level, duty.fields],
      ["warn", { worker: "w1", duty: "reclaim_expired", error: "no room" }],
    );
    await worker.stop({ mode: "abort" });
    assert.ok(lines.every(({ fields }) => fields["worker"] === "w1"));
  }),
);

logs("each start of an attempt has one end, and says how long the job has waited", () =>
  inPlace(async ({ store, run }) => {
    const started: { id: string; waitedMs: number; headers: unknown }[] = [];
    const ended: string[] = [];
    const client = new Client(store);
    await client.enqueue("good", {}, { id: "good", headers: { a: "b" }, scheduledAt: Date.now() - 5000 });
    await client.enqueue("bad", {}, { id: "bad", maxAttempts: 1 });
    await client.enqueue("nobody", {}, { id: "nobody" });
    const worker = new Worker(store, {
      tasks: {
        good: () => 1,
        bad: () => {
          throw new Error("no");
        },
      },
      logger: jsonLogger("silent"),
    });
    let claimed = 0;
    worker.on("worker:admission", (admission) => void (claimed += admission.claimed));
    worker.on(
      "job:started",
      ({ job, waitedMs, headers }) => void started.push({ id: job.id, waitedMs, headers }),
    );
    worker.on("job:settled", ({ job, state }) => void ended.push(`${job.id} ${state}`));
    await worker.start();
    await until("three ends", () => ended.length === 3);
    await worker.stop();
    assert.equal(ended.sort(), ["bad archived", "good deleted", "nobody scheduled"]);
    assert.equal(started.map(({ id }) => id).sort(), ["bad", "good"]);
    const good = started.find(({ id }) => id === "good");
    assert.equal(good?.headers, { a: "b" });
    assert.ok(good!.waitedMs >= 5000 && good!.waitedMs < 600_000, `${good?.waitedMs}`);
    assert.is(claimed, 3);
    void run;
  }),
);

logs("an end whose answer was lost is uncertain, not lost", () =>
  inPlace(async ({ store, database }) => {
    const proxy = await startProxy(database.url);
    const far = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 500 });
    const { lines, logger } = memoryLogger();
    const ends: string[] = [];
    const worker = new Worker(far, {
      tasks: { deaf: () => proxy.swallowReplies(true) },
      logger,
      duties: false,
    });
    worker.on("job:settled", ({ job }) => void ends.push(`settled ${job.id}`));
    worker.on("job:lost", ({ job }) => void ends.push(`lost ${job.id}`));
    worker.on("job:uncertain", ({ job }) => void ends.push(`uncertain ${job.id}`));
    await worker.start();
    await new Client(store).enqueue("deaf", {}, { id: "d" });
    await until("the end was heard", async () => (await store.getJob("d")) === null);
    await until("no answer", () => !worker.status().available);
    proxy.swallowReplies(false);
    await until("an end", () => ends.length);
    await worker.stop();
    assert.equal(ends, ["uncertain d"]);
    assert.equal(
      lines.filter(({ fields }) => fields["jobId"] === "d").map(({ level }) => level),
      ["info"],
    );
    await far.close();
    await proxy.close();
  }),
);

logs("the JSON logger keeps the line whatever its fields are", () => {
  const lines: string[] = [];
  const logger = jsonLogger("info", (line) => void lines.push(line));
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  logger.debug("dropped");
  logger.info("kept", {
    circle,
    big: 10n,
    error: new Error("why"),
    jobId: "j1",
    message: "another",
    level: "another",
  });
  assert.is(lines.length, 1);
  const { time, ...rest } = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.type(time, "string");
  assert.equal(rest, {
    level: "info",
    message: "kept",
    circle: "(no JSON form)",
    big: "10",
    error: { name: "Error", message: "why" },
    jobId: "j1",
  });
});

logs.run();
