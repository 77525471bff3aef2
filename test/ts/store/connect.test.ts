import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, type ConnectOptions } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";

const connect = suite("connect and close");
const database = await testDatabase();

connect.after(() => database.close());

const backends = async (): Promise<string[]> =>
  (
    await database.query<{ name: string }>(
      "select application_name as name from pg_stat_activity where datname = $1 and application_name like 'headrace%' order by 1",
      [database.name],
    )
  ).map(({ name }) => name);

connect("a pool of its own, one connection more for wake-ups, and nothing left after close", async () => {
  const store = await PgStore.connect(database.url, { schema: database.schema, maxSize: 2, listen: true });
  assert.is(store.pool.options.max, 2);
  assert.equal(await backends(), ["headrace"]);
  assert.is(await store.waitWakeup([], 10_000), "");
  await Promise.all(Array.from({ length: 10 }, () => store.counts()));
  assert.equal(await backends(), ["headrace", "headrace", "headrace listen"]);
  await Promise.all([store.close(), store.close()]);
  await store.close();
  await eventually("every backend has gone", async () => (await backends()).length === 0);
  assert.is(await store.waitWakeup([], 60_000), null);
});

connect("a store that listens keeps connections warm, another does only where it is told to", async () => {
  const kept = async (options: ConnectOptions): Promise<number | undefined> => {
    const store = await PgStore.connect(database.url, { schema: database.schema, ...options });
    await store.close();
    return store.pool.options.min;
  };
  assert.is(await kept({ listen: true }), 3);
  assert.is(await kept({}), 0);
  assert.is(await kept({ listen: true, minSize: 1 }), 1);
});

connect("the PG* variables say where, and DDL is never run", async () => {
  const url = new URL(database.url);
  const variables = {
    PGHOST: url.hostname,
    PGPORT: url.port,
    PGUSER: decodeURIComponent(url.username),
    PGPASSWORD: decodeURIComponent(url.password),
    PGDATABASE: database.name,
  };
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    const store = await PgStore.connect(undefined, { schema: database.schema, listen: true });
    assert.is(await store.waitWakeup([], 10_000), "");
    const [job] = await store.enqueue([{ kind: "task" }]);
    assert.ok(await store.getJob(job?.id ?? ""));
    await store.close();
    await PgStore.connect(undefined, { schema: "not there" }).catch(() => undefined);
    assert.equal(await database.query("select from pg_namespace where nspname = 'not there'"), []);
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  }
});

connect("a store on the caller's pool closes what it opened, not the pool", async () => {
  const store = new PgStore(database.pool, { schema: database.schema }).withListen(database.url);
  assert.is(await store.waitWakeup([], 10_000), "");
  await store.close();
  assert.is(database.pool.ended, false);
  assert.is((await store.counts()).approximate, false);
});

connect.run();
