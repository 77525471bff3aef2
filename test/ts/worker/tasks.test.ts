import { gunzipSync, gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import {
  Client,
  jsonCodec,
  task,
  UndecodableError,
  ValidationError,
  type Codec,
  type StandardSchema,
} from "../../../src/index.js";
import { decodePayload, encodePayload, TaskRegistry } from "../../../src/tasks/registry.js";
import { kept, workerSuite } from "./support.js";

const test = workerSuite("tasks");

const only = (definition: object): ReturnType<TaskRegistry["find"]> & object => {
  const found = new TaskRegistry({ it: definition }).find("it");
  assert.ok(found);
  return found;
};
const bytes = (value: unknown): Uint8Array => jsonCodec.encode(value);
const refusal = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    (value) => {
      throw new Error(`was not refused: ${JSON.stringify(value)}`);
    },
    (error: unknown) => error as Error,
  );

test("upcasters are a chain from the payload's version to the task's", async () => {
  const upcast = only({
    version: 4,
    upcasters: {
      1: (old: { name: string }) => ({ names: [old.name] }),
      2: async (old: { names: string[] }) => ({ ...old, count: old.names.length }),
      3: (old: object) => ({ ...old, last: true }),
    },
    handler: () => 1,
  });
  const read = async (payload: unknown, version: number): Promise<unknown> =>
    await decodePayload(upcast, bytes(payload), version);
  assert.equal(await read({ name: "ada" }, 1), { names: ["ada"], count: 1, last: true });
  assert.equal(await read({ names: [], count: 0 }, 3), { names: [], count: 0, last: true });
  assert.equal(await read({ as: "it is" }, 4), { as: "it is" });
});

test("a gap in the chain, a newer version and an upcaster that throws are undecodable", async () => {
  const gap = only({ version: 3, upcasters: { 1: (old: unknown) => old }, handler: () => 1 });
  const newer = only({ version: 2, upcasters: { 1: (old: unknown) => old }, handler: () => 1 });
  const thrower = only({
    version: 2,
    upcasters: {
      1: () => {
        throw new Error("no such field");
      },
    },
    handler: () => 1,
  });
  for (const [known, version, reason] of [
    [gap, 1, /no upcaster from version 2/],
    [newer, 3, /version 3 is newer than the 2/],
    [thrower, 1, /no such field/],
  ] as const) {
    const error = await refusal((async () => await decodePayload(known, bytes({}), version))());
    assert.instance(error, UndecodableError);
    assert.match(error.message, reason);
  }
});

test("tasks that contradict themselves or each other are refused when they are registered", async () => {
  const handler = (): number => 1;
  const wrong: [object, RegExp][] = [
    [{ it: { handler, version: 0 } }, /the version of the task it must be a whole number/],
    [{ it: { handler, version: 1.5 } }, /version/],
    [{ it: { handler, concurrency: 0 } }, /the concurrency of the task it/],
    [{ it: { handler, concurrency: Number.NaN } }, /concurrency/],
    [{ it: { handler, timeout: "soon" } }, /the timeout of the task it/],
    [{ it: { handler, upcasters: { 1: handler } } }, /leads beyond 1/],
    [{ it: { handler, version: 2, upcasters: { latest: handler } } }, /version of an upcaster/],
    [{ it: { handler, batchHandler: handler } }, /two handlers/],
    [{ it: { handler, batch: { maxSize: 2 } } }, /needs a batchHandler/],
    [{ it: { batchHandler: handler, batch: { maxSize: 0 } } }, /batch.maxSize/],
    [{ it: { batchHandler: handler, batch: { maxSize: 2, maxDelay: "x" } } }, /batch.maxDelay/],
    [{ it: "a text" }, /must be a handler or a definition, not string/],
    [{ it: null }, /must be a handler/],
    [{ it: { handler, aliases: ["old"] }, old: handler }, /old names two tasks: it and old/],
    [{ it: { handler, aliases: ["it"] } }, /names two tasks/],
  ];
  for (const [tasks, reason] of wrong)
    assert.throws(() => new TaskRegistry(tasks as never), reason, JSON.stringify(tasks));
  assert.ok(new TaskRegistry({ it: { handler, version: 2, upcasters: { 1: handler }, aliases: ["old"] } }));
});

const person: StandardSchema<{ name: string }, { name: string; initial: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    async validate(value) {
      await Promise.resolve();
      const { name } = (value ?? {}) as { name?: unknown };
      if (typeof name !== "string") return { issues: [{ message: "must be a text", path: ["name"] }] };
      return { value: { name, initial: name.slice(0, 1) } };
    },
  },
};

test("a schema is asked at both ends", async ({ store, put, run, until }) => {
  const got: unknown[] = [];
  const tasks = { greet: task({ schema: person, handler: (payload) => void got.push(payload) }) };
  const client = new Client(store, { tasks });
  const { id } = await client.enqueue("greet", { name: "ada" }, kept);
  const error = await refusal(client.enqueue("greet", { name: 1 as never }));
  assert.instance(error, ValidationError);
  assert.match(error.message, /the payload of greet is invalid: name: must be a text/);
  assert.is((await store.counts()).byState.available, 1);
  // A producer of another language knows nothing of the schema.
  const unread = await put("greet", { name: 1 }, { maxAttempts: 5 });
  await run(tasks);
  await until(id, "completed");
  await until(unread, "undecodable");
  assert.equal(got, [{ name: "ada", initial: "a" }]);
  assert.equal((await store.getJob(unread))?.attempt, 0);
  const [attempt] = await store.listAttempts(unread);
  assert.is(attempt?.outcome, "undecodable");
  assert.match(attempt?.error ?? "", /name: must be a text/);
});

test("a schema that throws ends the job undecodable, not the worker", async ({ put, run, until }) => {
  const broken: StandardSchema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: () => {
        throw new Error("broken schema");
      },
    },
  };
  await run({ it: task({ schema: broken, handler: () => 1 }), other: () => 1 });
  await until(await put("it"), "undecodable");
  await until(await put("other"), "completed");
});

const gzip: Codec = {
  encode: (value) => gzipSync(JSON.stringify(value)),
  decode: (packed) => JSON.parse(gunzipSync(packed).toString()) as unknown,
};

test("a task's codec writes and reads its payloads and results", async ({ store, run }) => {
  const tasks = {
    double: task<number[]>({ codec: gzip, handler: (numbers) => numbers.map((n) => 2 * n) }),
  };
  const client = new Client(store, { tasks });
  const { id } = await client.enqueue("double", [1, 2], { ...kept, pending: true });
  const stored = (await store.getJob(id, true))?.payload;
  assert.equal(stored?.subarray(0, 2), Buffer.from([0x1f, 0x8b]));
  await store.promoteJob(id);
  await run(tasks);
  assert.equal((await client.enqueueAndWait("double", [3])).result, [6]);
});

test("a codec that can't write refuses the enqueue, one that can't read ends the job undecodable", async ({
  store,
  run,
  put,
  until,
}) => {
  const failing: Codec = {
    encode: () => {
      throw new Error("no room");
    },
    decode: () => {
      throw new Error("no key");
    },
  };
  let called = 0;
  const tasks = { it: task({ codec: failing, handler: () => void called++ }) };
  const error = await refusal(new Client(store, { tasks }).enqueue("it", {}));
  assert.match(error.message, /no room/);
  assert.is((await store.counts()).byState.available, 0);
  const id = await put("it", {}, { maxAttempts: 3 });
  await run(tasks);
  await until(id, "undecodable");
  assert.is(called, 0);
  assert.is((await store.getJob(id))?.attempt, 0);
  assert.match((await store.listAttempts(id))[0]?.error ?? "", /payload can't be read: no key/);
});

test("what is no JSON is undecodable at once", async ({ store, run, until }) => {
  await run({ it: () => 1 });
  for (const payload of [Buffer.from("{"), Buffer.from([0xff, 0xfe]), Buffer.alloc(0)]) {
    const [job] = await store.enqueue([{ kind: "it", payload }]);
    await until(job?.id ?? "", "undecodable");
  }
});

test("a value without a form in JSON is refused before it is enqueued", async () => {
  for (const value of [undefined, () => 1, Symbol("s"), 10n])
    assert.instance(await refusal(encodePayload("it", only({ handler: () => 1 }), value)), TypeError);
});

test("jobs of old versions and old names are handled by the task of today", async ({ store, run, until }) => {
  const got: unknown[] = [];
  await run({
    "mail:send": task<{ to: string[] }>({
      version: 2,
      upcasters: { 1: (old) => ({ to: [(old as { to: string }).to] }) },
      aliases: ["send_mail"],
      handler: (payload, job) => void got.push([job.kind, payload]),
    }),
  });
  const ids: string[] = [];
  for (const job of [
    { kind: "send_mail", payload: { to: "a" }, schemaVersion: 1 },
    { kind: "mail:send", payload: { to: ["b"] }, schemaVersion: 2 },
  ]) {
    const [enqueued] = await store.enqueue([{ ...job, retentionMs: 60_000 }]);
    ids.push(enqueued?.id ?? "");
    await until(ids.at(-1) ?? "", "completed");
  }
  assert.equal(got, [
    ["send_mail", { to: ["a"] }],
    ["mail:send", { to: ["b"] }],
  ]);
  const [future] = await store.enqueue([
    { kind: "mail:send", payload: {}, schemaVersion: 3, maxAttempts: 9 },
  ]);
  await until(future?.id ?? "", "undecodable");
  assert.is((await store.getJob(future?.id ?? ""))?.attempt, 0);
});

test("payloads and results have the task's version", async ({ store, run, until }) => {
  const tasks = { it: task<object>({ version: 3, handler: () => "result" }) };
  const { id } = await new Client(store, { tasks }).enqueue("it", {}, kept);
  assert.is((await store.getJob(id))?.schemaVersion, 3);
  await run(tasks);
  await until(id, "completed");
  assert.is((await store.getJobResult(id))?.schemaVersion, 3);
});

test.run();
