import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, type Claim } from "../../../src/index.js";
import { privateServer, testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { startProxy } from "../support/proxy.js";
import { storeError } from "../support/store-error.js";

const outage = suite("store outages");
const database = await testDatabase();

outage.after(() => database.close());

// What nobody handles would be the end of an application.
const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));
process.on("uncaughtException", (error) => unhandled.push(error));
outage.after.each(() => {
  assert.equal(unhandled.splice(0), []);
});

/** Every backend but the one that asks. */
const killAll = (by: pg.Pool): Promise<unknown> =>
  by.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );

async function claims(store: PgStore, queue: string, jobs: number): Promise<Claim[]> {
  await store.enqueue(Array.from({ length: jobs }, () => ({ kind: "task", queue, retentionMs: 600_000 })));
  return store.admit({ worker: "w", queues: [queue], capacity: jobs, leaseMs: 600_000 });
}

outage("losing every connection at once fails calls, not the process, and service is back", async () => {
  const { server, database: own, close } = await privateServer({ poolSize: 2 });
  // A pool of the caller's, to which nobody listens but the store.
  const pool = new pg.Pool({ connectionString: own.url, max: 6 });
  const store = new PgStore(pool, { schema: own.schema, callTimeoutMs: 10_000 });
  store.withListen(own.url, { minRetryMs: 50, maxRetryMs: 200 });
  try {
    const losses = [() => killAll(own.pool), () => killAll(own.pool), () => server.restart("immediate")];
    for (const lose of losses) {
      const [claim] = await claims(store, "lost", 1);
      assert.ok(claim);
      await store.waitWakeup([], 5_000);
      const transactions = [await store.begin(), await store.begin()];
      await store.enqueueTx(transactions[0]!, [{ kind: "task", queue: "never" }]);
      // Some idle ones, too.
      await Promise.all([store.counts(), store.counts(), store.counts()]);
      await own.pool.query(
        own.sql(
          "create or replace function :SCHEMA.slow() returns void language sql as 'select pg_sleep(20)'",
        ),
      );
      const running = storeError(store.call("slow"));
      await sleep(100);
      await lose();
      assert.is((await running).code, "unavailable");
      for (const tx of transactions) assert.is((await storeError(tx.commit())).code, "unavailable");
      await eventually("service is back", async () =>
        store.ack(claim, "success").then(
          () => true,
          () => false,
        ),
      );
      assert.is((await store.counts("never")).byState.available, 0);
      assert.is(await store.waitWakeup([], 10_000), "");
    }
    assert.ok(pool.totalCount <= 6);
  } finally {
    await store.close();
    await pool.end();
    await close();
  }
});

outage(
  "calls into a black hole end within their time, and their connections are not used again (R-35)",
  async () => {
    const proxy = await startProxy(database.url);
    const store = await PgStore.connect(proxy.url, {
      schema: database.schema,
      maxSize: 4,
      callTimeoutMs: 1_000,
    });
    const inside: pg.Client[] = [];
    store.pool.on("acquire", (client) => inside.push(client));
    try {
      const held = await claims(store, "hole", 3);
      const [first, second] = held;
      assert.ok(first && second);
      // All four are open.
      await Promise.all([store.counts(), store.counts(), store.counts(), store.counts()]);
      inside.length = 0;
      proxy.blackhole(true);
      const began = performance.now();
      const failures = await Promise.all([
        storeError(store.admit({ worker: "w", queues: ["hole"] })),
        storeError(store.ack(first, "success")),
        storeError(store.renew(held, 1_000)),
        storeError(store.enqueue([{ kind: "task", queue: "hole", id: "into the hole" }])),
      ]);
      assert.ok(performance.now() - began < 5_000);
      for (const failure of failures) {
        assert.is(failure.code, "unavailable");
        assert.ok(failure.retryable);
      }
      // A renewal leaves time for another one.
      assert.match(failures[2].message, /within 500 ms/);
      const lost = new Set(inside.splice(0));
      assert.is(lost.size, 4);
      // Nobody waits for ever for a connection either.
      assert.is((await storeError(store.counts())).code, "unavailable");
      inside.length = 0;

      proxy.blackhole(false);
      await eventually("service is back", () =>
        store.counts().then(
          () => true,
          () => false,
        ),
      );
      assert.not(inside.some((client) => lost.has(client)));
      assert.equal(await store.renew(held, 60_000), []);
      assert.is(await store.ack(second, "success"), "completed");
      // Whether the first ack has arrived is not known; a second one settles it either way.
      const again = await store.ackMany([{ ...first, outcome: "success" }]);
      assert.is((await store.getJob(first.id))?.state, "completed", JSON.stringify(again));
      await store.enqueue([{ kind: "task", queue: "hole", id: "into the hole" }]);
      assert.ok(store.pool.totalCount <= 4);
    } finally {
      proxy.blackhole(false);
      await store.close();
      await proxy.close();
    }
  },
);

outage("a server that hangs while it is connected to does not hang the call", async () => {
  const proxy = await startProxy(database.url);
  proxy.blackhole(true);
  try {
    const pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
    const store = new PgStore(pool, { schema: database.schema, callTimeoutMs: 200 });
    for (let call = 0; call < 3; call++) {
      assert.match((await storeError(store.counts())).message, /no connection within 200 ms/);
    }
    const connecting = storeError(
      PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 200 }),
    );
    assert.is((await connecting).code, "unavailable");
    proxy.blackhole(false);
    proxy.cut();
    await eventually("the pool is free again", () =>
      store.counts().then(
        () => true,
        () => false,
      ),
    );
    await pool.end();
  } finally {
    await proxy.close();
  }
});

outage("an enqueue whose answer was lost can be sent again (R-42)", async () => {
  const proxy = await startProxy(database.url);
  const store = await PgStore.connect(proxy.url, {
    schema: database.schema,
    maxSize: 1,
    callTimeoutMs: 1_000,
  });
  try {
    const batch = Array.from({ length: 100 }, (_, n) => ({
      kind: "task",
      queue: "replies",
      id: `reply/${n}`,
      payload: { n },
    }));
    proxy.swallowReplies(true);
    assert.is((await storeError(store.enqueue(batch))).code, "unavailable");
    proxy.swallowReplies(false);
    assert.is((await store.counts("replies")).byState.available, 100);
    const again = await store.enqueue(batch);
    assert.ok(again.every(({ disposition, id }, n) => disposition === "replayed" && id === `reply/${n}`));
    assert.is((await store.counts("replies")).byState.available, 100);

    const changed = batch.map((job, n) => (n === 50 ? { ...job, payload: { n: "other" } } : job));
    const conflict = await storeError(
      store.enqueue([...changed, { kind: "task", queue: "replies" }] as never),
    );
    assert.is(conflict.code, "id_conflict");
    assert.is(conflict.fields.job_id, "reply/50");
    assert.is((await store.counts("replies")).byState.available, 100);
  } finally {
    await store.close();
    await proxy.close();
  }
});

outage(
  "a database that turned read-only is unavailable, and its connections are dropped (R-36)",
  async () => {
    const { database: own, close } = await privateServer({ poolSize: 2 });
    const store = await PgStore.connect(own.url, { schema: own.schema, maxSize: 2, callTimeoutMs: 5_000 });
    try {
      const [claim] = await claims(store, "standby", 1);
      assert.ok(claim);
      await own.pool.query("alter database headrace_test set default_transaction_read_only = on");
      await killAll(own.pool);
      await eventually("the change has come through", async () => {
        const error = await storeError(store.enqueue([{ kind: "task", queue: "standby" }]));
        assert.is(error.code, "unavailable");
        return error.sqlstate === "25006";
      });
      assert.is((await storeError(store.ack(claim, "success"))).sqlstate, "25006");
      assert.is(store.pool.totalCount, 0, "a connection to the standby is kept");
      await own.pool.query("set default_transaction_read_only = off; alter database headrace_test reset all");
      await eventually("the primary is back", () =>
        store.enqueue([{ kind: "task", queue: "standby" }]).then(
          () => true,
          () => false,
        ),
      );
      assert.is((await store.getJob(claim.id))?.attempt, 0);
      assert.is(await store.ack(claim, "success"), "completed");
    } finally {
      await store.close();
      await own.pool.query("alter database headrace_test reset all").catch(() => undefined);
      await close();
    }
  },
);

outage("hundreds of failing calls leave the pool as it was", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 3 });
  const store = new PgStore(pool, { schema: database.schema });
  const errors = pool.listenerCount("error");
  for (let round = 0; round < 100; round++) {
    await Promise.all([
      storeError(store.getJob("x".repeat(256))),
      storeError(store.ack({ jobId: "nobody", leaseId: "l", fence: 1n }, "success")),
      storeError(store.enqueue([{ kind: "not a kind" }])),
      store.counts("nothing"),
    ]);
  }
  assert.ok(pool.totalCount <= 3);
  assert.is(pool.totalCount, pool.idleCount);
  assert.is(pool.waitingCount, 0);
  const client = await pool.connect();
  // The pool's own comes back with the release; that of each loan went with it, and the one for life is one.
  assert.is(client.listenerCount("error"), 1);
  client.release();
  new PgStore(pool, { schema: database.schema });
  assert.is(pool.listenerCount("error"), errors);
  await store.close();
  assert.is((await pool.query("select 1 as one")).rows[0].one, 1);
  await pool.end();
});

outage("a server that dies with its first words fails the call, not the process", async () => {
  const message = (type: string, body: string | Buffer): Buffer => {
    const content = Buffer.from(body);
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(content.length + 4, 1);
    return Buffer.concat([head, content]);
  };
  const fatal = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0";
  // In one piece, so that it is all read before anybody learns that there is a connection.
  const words = Buffer.concat([message("R", Buffer.alloc(4)), message("Z", "I"), message("E", fatal)]);
  const dying = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(words));
  }).listen(0, "127.0.0.1");
  await once(dying, "listening");
  const { port } = dying.address() as AddressInfo;
  const pool = new pg.Pool({ connectionString: `postgresql://postgres@127.0.0.1:${port}/any`, max: 2 });
  const store = new PgStore(pool, { schema: database.schema });
  for (let call = 0; call < 5; call++) assert.is((await storeError(store.counts())).code, "unavailable");
  assert.is((await storeError(store.begin())).code, "unavailable");
  await pool.end();
  dying.close();
});

outage("a connect during an outage fails at once and leaves nothing", async () => {
  const proxy = await startProxy(database.url);
  await proxy.refuse(true);
  assert.is(
    (await storeError(PgStore.connect(proxy.url, { schema: database.schema, listen: true }))).code,
    "unavailable",
  );
  // A store on a pool may be made before there is a server.
  const pool = new pg.Pool({ connectionString: proxy.url });
  const early = new PgStore(pool, { schema: database.schema });
  assert.is((await storeError(early.counts())).code, "unavailable");
  await proxy.refuse(false);
  assert.type((await early.counts()).approximate, "boolean");
  await pool.end();
  await proxy.close();
});

outage.run();
