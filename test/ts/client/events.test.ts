import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  Client,
  PgStore,
  StoreError,
  task,
  type ClientEvents,
  type StandardSchema,
} from "../../../src/index.js";
import { memoryLogger } from "../observe/support.js";
import { testDatabase } from "../support/database.js";

const events = suite("events and scopes of a client");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
events.after(() => database.close());

const never: StandardSchema<object> = {
  "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "never" }] }) },
};

function record(client: Client): [string, ClientEvents[keyof ClientEvents][0]][] {
  const told: [string, ClientEvents[keyof ClientEvents][0]][] = [];
  for (const name of ["enqueue:before", "enqueue:after", "enqueue:failed"] as const)
    client.on(name, (event) => void told.push([name, event]));
  return told;
}

events("before, and then after or failed, with the batch as it was asked for", async () => {
  const client = new Client(store, { tasks: { strict: task({ schema: never }) } }) as unknown as Client;
  const told = record(client);
  const { id } = await client.enqueue("good", { a: 1 }, { uniqueKey: "u", delay: "1h" });
  const batch = [{ kind: "good", options: { uniqueKey: "u" } }];
  for (const fail of [
    () => client.enqueueMany(batch),
    () => client.enqueue("strict", {}),
    () => client.enqueue("bad", {}, { delay: "soon" }),
  ]) {
    await fail().then(
      () => assert.unreachable(),
      () => undefined,
    );
  }
  assert.equal(
    told.map(([name]) => name),
    ["enqueue:before", "enqueue:after", ...Array(3).fill(["enqueue:before", "enqueue:failed"]).flat()],
  );
  const [, before] = told[0]! as [string, ClientEvents["enqueue:before"][0]];
  assert.equal(before, {
    batch: [{ kind: "good", payload: { a: 1 }, options: { uniqueKey: "u", delay: "1h" } }],
    transaction: false,
  });
  const [, after] = told[1]! as [string, ClientEvents["enqueue:after"][0]];
  assert.is(after.batch, before.batch);
  assert.equal(
    after.enqueued.map((one) => [one.id, one.disposition]),
    [[id, "inserted"]],
  );
  assert.ok(after.durationMs > 0);
  const failed = told.slice(2).flatMap(([, event]) => ("error" in event ? [event.error as Error] : []));
  assert.instance(failed[0], StoreError);
  assert.equal(
    failed.map(({ name }) => name),
    ["StoreError", "ValidationError", "RangeError"],
  );
});

events("a call in a transaction says so, and an aborted one fails", async () => {
  const client = new Client(store);
  const told = record(client);
  const tx = await store.begin();
  await client.enqueue("in-tx", {}, { tx });
  await tx.rollback();
  await client
    .enqueue("aborted", {}, { signal: AbortSignal.abort(new Error("gone")) })
    .catch(() => undefined);
  assert.equal(
    told.map(([name, event]) => [name, "transaction" in event && event.transaction]),
    [
      ["enqueue:before", true],
      ["enqueue:after", true],
      ["enqueue:before", false],
      ["enqueue:failed", false],
    ],
  );
});

events("listeners break nothing, are told in order, and can leave", async () => {
  const { lines, logger } = memoryLogger();
  const client = new Client(store, { logger });
  const heard: string[] = [];
  const listener = (): void => void heard.push("second");
  client.on("enqueue:after", () => {
    heard.push("first");
    throw new Error("thrown");
  });
  const rejects = (): void => Promise.reject(new Error("rejected")) as never;
  client.on("enqueue:after", rejects);
  client.on("enqueue:after", listener);
  assert.is((await client.enqueue("fine")).disposition, "inserted");
  client.off("enqueue:after", listener);
  await client.enqueue("fine");
  assert.equal(heard, ["first", "second", "first"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(
    lines.map(({ level, message, fields }) => [
      level,
      message,
      /thrown|rejected/.exec(String(fields["error"]))?.[0],
    ]),
    [
      ["error", "a listener failed", "thrown"],
      ["error", "a listener failed", "rejected"],
      ["error", "a listener failed", "thrown"],
      ["error", "a listener failed", "rejected"],
    ],
  );
  const broken = { ...logger, error: () => assert.unreachable() };
  const guarded = new Client(store, { logger: broken });
  guarded.on("enqueue:before", () => {
    throw new Error("thrown");
  });
  assert.is((await guarded.enqueue("fine")).disposition, "inserted");
});

events("wrap puts a middleware around all that are there", async () => {
  const order: string[] = [];
  const named = (name: string) => async (batch: never, next: (batch: never) => Promise<never>) => {
    order.push(name);
    return next(batch);
  };
  const client = new Client(store, { middleware: [named("given") as never] }).wrap(named("wrapped") as never);
  const scoped = client.with({}).wrap(named("scoped") as never);
  client.wrap(named("late") as never);
  await scoped.enqueue("wrapped");
  assert.equal(order.splice(0), ["scoped", "late", "wrapped", "given"]);
  await client.enqueue("wrapped");
  assert.equal(order, ["late", "wrapped", "given"]);
});

events("with: headers under a job's own, in a transaction, and the rest as before", async () => {
  const trace = { traceparent: "00-11111111111111111111111111111111-2222222222222222-01", tracestate: "a=1" };
  const client = new Client(store, { defaults: { queue: "scoped" } });
  const told = record(client);
  const seen: unknown[] = [];
  client.wrap((batch, next, call) => {
    seen.push(call.inherited);
    return next(batch);
  });
  const scoped = client.with({ headers: { tenant: "acme", ...trace } });
  const headersOf = async (id: string): Promise<unknown> => (await store.getJob(id, true))?.headers;
  const inherits = await scoped.enqueue("a");
  const own = await scoped.enqueue("b", {}, { headers: { tenant: "other", traceparent: "mine" } });
  const full = Object.fromEntries(Array.from({ length: 127 }, (_, n) => [`h${n}`, "x"]));
  const crowded = await scoped.enqueue("c", {}, { headers: full });
  const plain = await client.enqueue("d");
  assert.equal(await headersOf(inherits.id), { tenant: "acme", ...trace });
  assert.equal(await headersOf(own.id), { tenant: "other", traceparent: "mine" });
  assert.equal(await headersOf(crowded.id), full);
  assert.is(await headersOf(plain.id), null);
  assert.is((await store.getJob(inherits.id))?.queue, "scoped");
  assert.is(told.length, 8);
  assert.equal([seen.length, seen[0], seen[3]], [4, { tenant: "acme", ...trace }, {}]);

  const tx = await store.begin();
  const inTx = client.with({ tx });
  await inTx.enqueue("dropped", {}, { id: "dropped" });
  const other = await store.begin();
  await inTx.enqueue("kept", {}, { id: "kept", tx: other });
  await other.commit();
  try {
    await inTx.enqueueAndWait("dropped");
    assert.unreachable();
  } catch (error) {
    assert.equal([(error as StoreError).code, (error as StoreError).fields["field"]], ["invalid", "tx"]);
  }
  await tx.rollback();
  assert.equal([await store.getJob("dropped"), (await store.getJob("kept"))?.id], [null, "kept"]);
});

events.run();
