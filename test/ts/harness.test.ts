import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../scripts/lib/source.js";
import { concurrently } from "./support/concurrently.js";
import { privateServer, testDatabase } from "./support/database.js";
import { blocked } from "./support/locks.js";
import { startProxy } from "./support/proxy.js";

const harness = suite("test harness");

harness("databases are migrated and do not see each other", async () => {
  const [one, two] = await Promise.all([testDatabase({ invariants: false }), testDatabase()]);
  await one.query("delete from :SCHEMA.schema_migration");
  assert.ok((await two.query("select from :SCHEMA.schema_migration")).length > 0);
  await Promise.all([one.close(), two.close()]);
});

harness("blocked sees a wait for a lock, and a query that does not wait", async () => {
  const database = await testDatabase({ installed: false });
  const [holder, waiter] = [await database.connect(), await database.connect()];
  await holder.query("begin; select pg_advisory_xact_lock(1)");
  const waiting = waiter.query("select pg_advisory_lock(1)");
  await blocked(database.pool, waiter);
  await holder.query("commit");
  await waiting;
  await fails(() => blocked(database.pool, waiter, 50), /expected backend \d+ to wait/);
  await database.close();
});

harness("concurrently uses connections of their own", async () => {
  const database = await testDatabase({ installed: false });
  const pids = await concurrently(database, 5, async (client) => {
    await client.query("select pg_sleep(0.05)");
    return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
  });
  assert.is(new Set(pids).size, 5);
  await fails(
    () =>
      concurrently(database, 2, async (client, at) => void (at === 1 && (await client.query("select 1/0")))),
    /division by zero/,
  );
  await database.close();
});

harness("a private server keeps committed work through every kind of stop", async () => {
  const { server, database, close } = await privateServer({ installed: false, settings: { fsync: "on" } });
  await database.pool.query("create table kept (mode text)");
  for (const mode of ["fast", "immediate", "kill"] as const) {
    await database.pool.query("insert into kept values ($1)", [mode]);
    await server.stop(mode);
    await fails(() => database.pool.query("select"), /ECONNREFUSED|ECONNRESET|EPIPE|terminat|not queryable/);
    await server.start();
  }
  const { rows } = await database.pool.query("select mode from kept");
  assert.equal(
    rows.map(({ mode }) => mode as string),
    ["fast", "immediate", "kill"],
  );
  await close();
});

harness("a private server comes migrated", async () => {
  const { database, close } = await privateServer();
  assert.ok((await database.query("select :SCHEMA.enqueue('a') as id"))[0]?.["id"]);
  await close();
});

harness("a server goes when its owner is killed (R-100)", async () => {
  const program = `import { startEmbedded } from "./test/ts/support/embedded.ts";
    const server = await startEmbedded();
    console.log(server.url());
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const client = new pg.Client({ connectionString: line.toString().trim() });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>("show data_directory");
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  child.kill("SIGKILL");
  await ended;
  for (
    const deadline = Date.now() + 60_000;
    existsSync(rows[0]?.data_directory ?? "") && Date.now() < deadline;
  ) {
    await sleep(20);
  }
  assert.not.ok(existsSync(rows[0]?.data_directory ?? ""));
});

harness("the proxy passes, delays, cuts and refuses", async () => {
  const database = await testDatabase({ installed: false });
  const proxy = await startProxy(database.url);
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: proxy.url });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };
  const client = await connect();
  assert.is((await client.query("select 1 as a")).rows[0].a, 1);

  proxy.delay(50);
  const begun = Date.now();
  await client.query("select");
  assert.ok(Date.now() - begun >= 95);
  proxy.delay(0);

  const lost = client.query("select pg_sleep(5)");
  await sleep(20);
  proxy.cut();
  await fails(() => lost, /ECONNRESET|terminated/);

  await proxy.refuse(true);
  await fails(connect, /ECONNREFUSED/);
  await proxy.refuse(false);
  await (await connect()).end();
  await proxy.close();
  await database.close();
});

harness("the proxy swallows replies, and goes silent", async () => {
  const database = await testDatabase({ installed: false });
  await database.pool.query("create table written (a integer)");
  const proxy = await startProxy(database.url);
  const client = new pg.Client({ connectionString: proxy.url, query_timeout: 200 });
  client.on("error", () => undefined);
  await client.connect();
  const count = async (): Promise<number> =>
    (await database.pool.query<{ count: number }>("select count(*)::int from written")).rows[0]?.count ?? -1;

  proxy.swallowReplies(true);
  await fails(() => client.query("insert into written values (1)"), /timeout/);
  // It was sent, but on a busy machine it need not have run yet.
  for (const deadline = Date.now() + 60_000; (await count()) === 0 && Date.now() < deadline;) await sleep(10);
  assert.is(await count(), 1);
  proxy.swallowReplies(false);

  proxy.blackhole(true);
  await fails(() => client.query("insert into written values (2)"), /timeout/);
  assert.is(await count(), 1);
  await proxy.close();
  await client.end();
  await database.close();
});

harness.run();

async function fails(work: () => Promise<unknown>, message: RegExp): Promise<void> {
  let failure: unknown;
  await work().catch((error: unknown) => (failure = error));
  assert.ok(failure instanceof Error, "should have failed");
  assert.match(failure.message || (failure as NodeJS.ErrnoException).code || "", message);
}
