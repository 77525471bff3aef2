import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import { migrate } from "../../../src/migrate/index.js";
import { privateServer, testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { startProxy } from "../support/proxy.js";
import { storeError } from "../support/store-error.js";

const wakeups = suite("wake-ups");
const database = await testDatabase();

wakeups.after(() => database.close());

const quick = { heartbeatMs: 400, answerMs: 300, minRetryMs: 50, maxRetryMs: 200 };
const opened: PgStore[] = [];

/** A store that listens, closed after the test. */
async function listening(url = database.url, schema = database.schema): Promise<PgStore> {
  const store = await PgStore.connect(url, { schema, maxSize: 2, callTimeoutMs: 5_000 });
  opened.push(store.withListen(url, quick));
  return store;
}

wakeups.after.each(async () => {
  // Whom a test declared asleep is so for a minute.
  await database.query("delete from :SCHEMA.sleeper");
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

/** The first wait opens the connection, and says "poll now" when it stands. */
async function ready(store: PgStore): Promise<void> {
  assert.is(await store.waitWakeup([], 10_000), "");
}

async function listeners(name = database.name): Promise<number> {
  const rows = await database.query<{ n: string }>(
    "select count(*) as n from pg_stat_activity where datname = $1 and application_name = 'headrace listen'",
    [name],
  );
  return Number(rows[0]?.n);
}

wakeups("a new job wakes whoever waits for its queue, and nobody else", async () => {
  const store = await listening();
  await ready(store);
  assert.is(store.notifying?.listening, true);
  await store.declareSleep("w", ["a", "b"], 60_000);
  const other = store.waitWakeup(["c"], 300);
  const waiting = store.waitWakeup(["a", "b"], 10_000);
  const any = store.waitWakeup([], 10_000);
  await store.enqueue([{ kind: "task", queue: "b" }]);
  assert.is(await waiting, "b");
  assert.is(await any, "b");
  assert.is(await other, null);
});

wakeups("what came between two waits is not lost", async () => {
  const store = await listening();
  await ready(store);
  await store.declareSleep("w", [], 60_000);
  await store.enqueue([{ kind: "task", queue: "between" }]);
  await sleep(200);
  assert.is(await store.waitWakeup(["elsewhere"], 1), null);
  assert.is(await store.waitWakeup(["between"], 10_000), "between");
});

wakeups(
  "a claim of one job by a worker with room for more leaves it asleep, any other wakes it",
  async () => {
    const store = new PgStore(database.pool, { schema: database.schema });
    const asleep = async (jobs: number, capacity: number): Promise<boolean> => {
      const queue = `asleep ${jobs} of ${capacity}`;
      await store.declareSleep("dozer", [queue], 60_000);
      if (jobs > 0) await store.enqueue(Array.from({ length: jobs }, () => ({ kind: "task", queue })));
      const claims = await store.admit({ worker: "dozer", queues: [queue], capacity });
      assert.is(claims.length, Math.min(jobs, capacity));
      const rows = await database.query("select from :SCHEMA.sleeper where worker = 'dozer'");
      assert.is(claims.asleep, rows.length === 1);
      return rows.length === 1;
    };
    assert.ok(await asleep(0, 4));
    assert.ok(await asleep(1, 4));
    assert.not.ok(await asleep(2, 4));
    assert.not.ok(await asleep(4, 4));
    assert.not.ok(await asleep(1, 1));
  },
);

wakeups("nobody asleep: nothing is sent", async () => {
  const store = await listening();
  await ready(store);
  await store.enqueue([{ kind: "task", queue: "unwatched" }]);
  assert.is(await store.waitWakeup(["unwatched"], 300), null);
});

wakeups("of many who enqueue at the same time two notify, and each one alone does (R-43)", async () => {
  const store = await listening();
  await ready(store);
  const ear = await database.connect();
  let heard = 0;
  ear.on("notification", ({ payload }) => (heard += Number(payload === "crowd")));
  const [row] = await database.query<{ channel: string }>("select :SCHEMA.channel() as channel");
  await ear.query(`listen ${pg.escapeIdentifier(row!.channel)}`);
  await store.declareSleep("w", ["crowd"], 60_000);
  const crowd = await Promise.all(Array.from({ length: 10 }, () => database.connect()));
  for (const client of crowd) {
    await client.query("begin");
    await client.query(database.sql("select :SCHEMA.enqueue('task', queue => 'crowd')"));
  }
  await Promise.all(crowd.map((client) => client.query("commit")));
  const waiting = store.waitWakeup(["crowd"], 10_000);
  assert.is(await waiting, "crowd");
  await ear.query("select 1");
  assert.ok(heard >= 1 && heard <= 2, `${heard} notifications`);
  heard = 0;
  for (let alone = 0; alone < 3; alone++) await store.enqueue([{ kind: "task", queue: "crowd" }]);
  await ear.query("select 1");
  assert.is(heard, 3);
  // Whoever has stopped is not to be woken.
  await store.heartbeatWorker({ workerId: "w", incarnation: "1", queues: ["crowd"], status: "stopped" });
  await store.enqueue([{ kind: "task", queue: "crowd" }]);
  await ear.query("select 1");
  assert.is(heard, 3);
});

wakeups("a payload that is not ours is a queue that nobody knows, and an empty one means poll", async () => {
  const store = await listening();
  await ready(store);
  const [{ channel }] = (await database.query<{ channel: string }>("select :SCHEMA.channel()")) as [
    { channel: string },
  ];
  const waiting = store.waitWakeup(["mine"], 10_000);
  await database.query("select pg_notify($1, '{not json')", [channel]);
  await database.query("select pg_notify($1, '')", [channel]);
  assert.is(await waiting, "");
});

wakeups("an abort and a close end a wait", async () => {
  const store = await listening();
  await ready(store);
  const abort = new AbortController();
  const first = store.waitWakeup(["a"], 60_000, abort.signal);
  const second = store.waitWakeup(["a"], 60_000);
  abort.abort();
  assert.is(await first, null);
  await store.close();
  assert.is(await second, null);
  assert.is(store.notifying?.listening, false);
  await eventually("no backend is left", async () => (await listeners()) === 0);
});

wakeups("without a listening connection there are none, and it says so", async () => {
  const store = new PgStore(database.pool, { schema: database.schema });
  assert.is(store.notifying, undefined);
  assert.not(store.caps.has("notifying"));
  assert.equal((await storeError(store.waitWakeup([], 1))).fields["field"], "listen");
  assert.ok((await listening()).caps.has("notifying"));
  assert.throws(() => opened[0]?.withListen(database.url), /is set already/);
});

wakeups("the session is restored after each loss, with one backend and a poll (R-37)", async () => {
  const store = await listening();
  await ready(store);
  for (let round = 0; round < 5; round++) {
    const waiting = store.waitWakeup(["a"], 15_000);
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'headrace listen'",
      [database.name],
    );
    assert.is(await waiting, "");
    await eventually("one backend listens", async () => (await listeners()) === 1);
    await store.declareSleep("w", [], 60_000);
    const next = store.waitWakeup(["a"], 15_000);
    await store.enqueue([{ kind: "task", queue: "a" }]);
    assert.is(await next, "a");
  }
  await store.close();
  await eventually("no backend is left", async () => (await listeners()) === 0);
});

wakeups("the session never holds a transaction, and listens to the channel (R-45)", async () => {
  const store = await listening();
  await ready(store);
  for (let round = 0; round < 20; round++) {
    const [row] = await database.query(
      `select state, xact_start, query from pg_stat_activity where datname = $1 and application_name = 'headrace listen'`,
      [database.name],
    );
    assert.is(row?.["state"], "idle");
    assert.is(row?.["xact_start"], null);
    await sleep(20);
  }
});

wakeups("a half-open connection is noticed and replaced", async () => {
  const proxy = await startProxy(database.url);
  try {
    const store = await PgStore.connect(database.url, { schema: database.schema, maxSize: 2 });
    opened.push(store.withListen(proxy.url, quick));
    await ready(store);
    proxy.blackhole(true);
    await eventually("the loss is noticed", () => store.notifying?.listening === false);
    assert.instance(store.notifying?.lastError, Error);
    const waiting = store.waitWakeup(["a"], 15_000);
    proxy.blackhole(false);
    assert.is(await waiting, "");
  } finally {
    await proxy.close();
  }
});

wakeups("closing while the server is away leaves nothing behind", async () => {
  const proxy = await startProxy(database.url);
  try {
    const store = await PgStore.connect(database.url, { schema: database.schema, maxSize: 2 });
    opened.push(store.withListen(proxy.url, quick));
    await ready(store);
    await proxy.refuse(true);
    await eventually("the loss is noticed", () => store.notifying?.listening === false);
    await store.close();
    await proxy.refuse(false);
    await sleep(500);
    assert.is(proxy.connections, 0);
  } finally {
    await proxy.close();
  }
});

wakeups("a server that restarts is listened to again (R-37)", async () => {
  const { server, database: own, close } = await privateServer({ poolSize: 3 });
  try {
    const store = await PgStore.connect(own.url, { schema: own.schema, maxSize: 2, callTimeoutMs: 5_000 });
    opened.push(store.withListen(own.url, quick));
    await ready(store);
    for (const mode of ["immediate", "fast", "kill"] as const) {
      await server.stop(mode);
      await eventually("the loss is noticed", () => store.notifying?.listening === false);
      assert.is(await store.waitWakeup(["a"], 300), null);
      await server.start();
      assert.is(await store.waitWakeup(["a"], 15_000), "");
      await store.declareSleep("w", [], 60_000);
      const woken = store.waitWakeup(["a"], 15_000);
      await store.enqueue([{ kind: "task", queue: "a" }]);
      assert.is(await woken, "a");
      const [row] = await own.query<{ n: string }>(
        "select count(*) as n from pg_stat_activity where application_name = 'headrace listen'",
      );
      assert.is(Number(row?.n), 1);
    }
    await store.close();
  } finally {
    await close();
  }
});

wakeups("installs in one database don't hear each other, whatever their names are (R-46)", async () => {
  const long = "é".repeat(31);
  const schemas = ["Jobs", "jobs", `my-jobs:"x"`, `${long}a`, `${long}b`];
  for (const schema of schemas) await migrate({ pool: database.pool, schema });
  const stores = await Promise.all(schemas.map((schema) => listening(database.url, schema)));
  await Promise.all(stores.map(ready));
  for (const [at, store] of stores.entries()) {
    await store.declareSleep("w", [], 60_000);
    const waits = stores.map((one, other) => one.waitWakeup([], other === at ? 10_000 : 300));
    await store.enqueue([{ kind: "task", queue: `only ${at}` }]);
    const expected = stores.map((_, other) => (other === at ? `only ${at}` : null));
    assert.equal(await Promise.all(waits), expected);
  }
});

wakeups("hundreds of queues with the longest names wake their waiters in one batch (R-44)", async () => {
  const store = await listening();
  await ready(store);
  const ear = await database.connect();
  const heard: string[] = [];
  ear.on("notification", ({ payload }) => heard.push(payload ?? ""));
  const [row] = await database.query<{ channel: string }>("select :SCHEMA.channel() as channel");
  await ear.query(`listen ${pg.escapeIdentifier(row!.channel)}`);
  // 255 bytes each, of one byte a character and of four.
  const queues = Array.from({ length: 300 }, (_, at) => {
    const start = `${at}`.padStart(3, "0");
    return start + (at % 2 === 0 ? "x".repeat(252) : "🦉".repeat(63));
  });
  assert.ok(queues.every((queue) => Buffer.byteLength(queue) === 255));
  await store.declareSleep("w", queues, 600_000);
  const waits = queues.map((queue) => store.waitWakeup([queue], 60_000));
  const patient = new PgStore(database.pool, { schema: database.schema, callTimeoutMs: 120_000 });
  const jobs = await patient.enqueue(
    Array.from({ length: 1000 }, (_, at) => ({
      kind: "task",
      queue: queues[at % 300]!,
      payload: at % 125 === 0 ? Buffer.alloc(1_048_576, "secret") : Buffer.from("secret"),
    })),
  );
  assert.is(jobs.length, 1000);
  for (const [at, woken] of (await Promise.all(waits)).entries()) {
    // "" is "poll now": the session was replaced meanwhile.
    assert.ok(woken === queues[at] || woken === "", `${queues[at]} got ${woken}`);
  }
  await eventually("a plain listener hears of every queue", () => new Set(heard).size === 300);
  assert.equal([...new Set(heard)].sort(), [...queues].sort());
  assert.ok(heard.every((payload) => Buffer.byteLength(payload) < 8_000 && !payload.includes("secret")));
});

wakeups.run();
