import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  Client,
  jsonLogger,
  PgStore,
  StoreError,
  task,
  ValidationError,
  Worker,
  type StandardSchema,
} from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const clients = suite("client");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
clients.after(() => database.close());

const address: StandardSchema<{ to: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof (value as { to?: unknown } | undefined)?.to === "string"
        ? { value: value as { to: string } }
        : { issues: [{ message: "must be a text", path: ["to"] }] },
  },
};

clients("a name that is no option is refused with those that are, and the nearest", async () => {
  const client = new Client(store);
  const refused = async (options: object): Promise<StoreError> => {
    const error: unknown = await client.enqueue("email", {}, options).catch((caught: unknown) => caught);
    assert.instance(error, StoreError);
    return error as StoreError;
  };
  for (const [name, meant] of [
    ["partition_key", "partitionKey"],
    ["delayMs", "delay"],
    ["delay_ms", "delay"],
    ["retnetion", "retention"],
    ["Priority", "priority"],
    ["prio", "priority"],
    ["attempts", "maxAttempts"],
    ["schedule", "scheduledAt"],
    ["zzz", undefined],
    ["payload", undefined],
    ["constructor", undefined],
  ] as const) {
    const { code, message, fields } = await refused({ [name]: 1 });
    assert.equal([code, fields["field"]], ["invalid", name]);
    assert.is(/did you mean (.*)\?/.exec(message)?.[1], meant, message);
    const listed = String(fields["bound"]).split(", ");
    assert.equal(
      [listed.length, listed.includes("scheduledAt"), listed.includes("scheduledAtMs")],
      [22, true, false],
    );
  }
  const loose = { kind: "email", payload: {}, delay: "5m" };
  const error: unknown = await client.enqueueMany([loose]).catch((caught: unknown) => caught);
  assert.match(
    (error as Error).message,
    /delay is not a field of a job in a batch; write options: \{ delay: … \}/,
  );
  // The store has names of its own.
  const low: unknown = await store
    .enqueue([{ kind: "email", partition_key: "a" } as never])
    .catch((e: unknown) => e);
  assert.match(
    (low as Error).message,
    /partition_key is not a field of a job; did you mean partitionKey\? \(payload, /,
  );
  // And every object has these.
  const own: unknown = await store
    .enqueue([{ kind: "email", ["constructor"]: "a" } as never])
    .catch((e: unknown) => e);
  assert.match((own as Error).message, /constructor is not a field of a job/);
  assert.is((await store.listJobs({ kind: "email" })).jobs.length, 0);
});

clients("a payload that is left out is written by the task's codec", async () => {
  const seen: unknown[] = [];
  const handler = (payload: unknown): number => seen.push(payload);
  const lenient = {
    encode: (value: unknown) => Buffer.from(value === undefined ? "" : `=${value as string}`),
    decode: (bytes: Uint8Array) => (bytes.length === 0 ? undefined : Buffer.from(bytes).toString()),
  };
  const strict = { ...lenient, encode: (value: unknown) => Buffer.from((value as string).trim()) };
  const tasks = {
    lenient: task<string | undefined>({ codec: lenient, handler }),
    strict: task<string | undefined>({ codec: strict, handler }),
    json: task<unknown>({ handler }),
  };
  const client = new Client(store, { tasks, defaults: { queue: "codecs", retention: "1h" } });
  const { id } = await client.enqueue("lenient");
  assert.is((await store.getJob(id, true))?.payload?.length, 0);
  const error: unknown = await client.enqueue("strict").catch((caught: unknown) => caught);
  assert.match((error as Error).message, "strict needs a payload: its codec can't write undefined");
  const json = await client.enqueue("json");
  assert.is((await store.getJob(json.id, true))?.payload?.toString(), "{}");
  const worker = new Worker(store, { tasks, queues: ["codecs"], logger: jsonLogger("silent") });
  await worker.start();
  const last = await client.enqueueAndWait("lenient", "text");
  assert.is(last.state, "completed");
  await worker.stop();
  assert.equal(new Set(seen), new Set([undefined, {}, "=text"]));
});

clients("options arrive in the job, durations as texts", async () => {
  const client = new Client(store, { defaults: { queue: "mail", maxAttempts: 3 } });
  const { id, disposition } = await client.enqueue(
    "email",
    { to: "ada" },
    {
      partitionKey: "acme",
      delay: "5m",
      timeout: "30s",
      retention: "1d",
      priority: 2,
      tags: ["b", "a"],
      headers: { trace: "x" },
    },
  );
  const job = (await store.getJob(id, true))!;
  assert.is(disposition, "inserted");
  assert.equal([job.queue, job.partitionKey, job.state, job.priority], ["mail", "acme", "scheduled", 2]);
  assert.equal([job.timeoutMs, job.retentionMs, job.maxAttempts], [30_000, 86_400_000, 3]);
  assert.equal(job.tags, ["a", "b"]);
  assert.is(job.scheduledAtMs - job.enqueuedAtMs, 300_000);
  assert.is(job.payload!.toString(), '{"to":"ada"}');
  await client.enqueue("email", undefined, {
    deadline: new Date(Date.now() + 60_000),
    uniqueKey: "k",
    uniqueWindow: 1000,
  });
});

clients("a batch is all or nothing, and a duplicate says whose the key is", async () => {
  const client = new Client(store);
  const first = await client.enqueue("once", {}, { uniqueKey: "key", queue: "dup" });
  try {
    await client.enqueueMany([
      { kind: "other", options: { queue: "dup" } },
      { kind: "once", options: { uniqueKey: "key", queue: "dup" } },
    ]);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, StoreError);
    assert.equal(
      [(error as StoreError).code, (error as StoreError).fields["existing_id"]],
      ["duplicate", first.id],
    );
  }
  assert.is((await store.listJobs({ queue: "dup" })).jobs.length, 1);
});

clients("in the caller's transaction it commits and rolls back with it", async () => {
  const client = new Client(store);
  const connection = await database.connect();
  await connection.query("begin");
  await client.enqueue("kept", {}, { id: "kept", tx: connection });
  await connection.query("commit");
  await connection.query("begin");
  await client.enqueue("dropped", {}, { id: "dropped", tx: connection });
  await connection.query("rollback");
  await connection.end();
  assert.equal([(await store.getJob("kept"))?.id, await store.getJob("dropped")], ["kept", null]);
});

clients(
  "a task's schema refuses a payload before anything is written, and its version goes along",
  async () => {
    const client = new Client(store, {
      tasks: { mail: task<{ to: string }>({ schema: address, version: 3 }) },
    });
    const { id } = await client.enqueue("mail", { to: "ada" });
    assert.is((await store.getJob(id))!.schemaVersion, 3);
    try {
      await client.enqueue("mail", { to: 5 } as unknown as { to: string });
      assert.unreachable();
    } catch (error) {
      assert.instance(error, ValidationError);
      assert.match((error as Error).message, "to: must be a text");
    }
    try {
      await client.enqueue("mail", undefined as unknown as { to: string });
      assert.unreachable();
    } catch (error) {
      assert.instance(error, ValidationError);
    }
    const bare = new Client(store, { tasks: { bare: task<undefined>({ version: 2 }) } });
    assert.is((await store.getJob((await bare.enqueue("bare")).id))!.schemaVersion, 2);
  },
);

clients("middleware sees each batch, the first outermost", async () => {
  const seen: string[] = [];
  const around =
    (name: string) => async (batch: readonly { kind: string }[], next: (batch: never) => Promise<never>) => {
      seen.push(`${name} ${batch.length}`);
      return next(batch as never);
    };
  const client = new Client(store, { middleware: [around("outer"), around("inner")] as never });
  await client.enqueue("seen");
  assert.equal(seen, ["outer 1", "inner 1"]);
});

clients("an aborted call writes nothing, and a bad duration is named", async () => {
  const client = new Client(store);
  const gone = AbortSignal.abort(new Error("no longer wanted"));
  for (const [call, message] of [
    [() => client.enqueue("aborted", {}, { id: "aborted", signal: gone }), "no longer wanted"],
    [() => client.enqueue("bad", {}, { delay: "soon" }), "delay must look like"],
    [() => client.enqueue("bad", {}, { delay: null as never }), "delay must look like"],
  ] as const) {
    try {
      await call();
      assert.unreachable();
    } catch (error) {
      assert.match((error as Error).message, message);
    }
  }
  assert.is(await store.getJob("aborted"), null);
});

clients("enqueueAndWait answers with what the handler returned, and with a bad end", async () => {
  const tasks = {
    add: task<{ a: number; b: number }, number>({ handler: ({ a, b }) => a + b }),
    fail: task<object>({
      handler: () => {
        throw new Error("no");
      },
    }),
  };
  const worker = new Worker(store, { tasks, queues: ["wait"], poll: { min: 10, max: 50 } });
  await worker.start();
  const client = new Client(store, { tasks, defaults: { queue: "wait" } });
  try {
    const added = await client.enqueueAndWait("add", { a: 2, b: 3 });
    assert.equal([added.state, added.result], ["completed", 5]);
    const failed = await client.enqueueAndWait("fail", {}, { maxAttempts: 1 });
    assert.equal([failed.state, failed.result], ["archived", undefined]);
  } finally {
    await worker.stop();
  }
  try {
    await client.enqueueAndWait("add", { a: 1, b: 1 }, { timeout: 50 });
    assert.unreachable();
  } catch (error) {
    assert.equal(
      [(error as StoreError).code, /has not ended/.test((error as Error).message)],
      ["not_found", true],
    );
  }
});

clients.run();
