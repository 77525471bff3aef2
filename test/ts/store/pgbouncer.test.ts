// timeout: 300 s
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { access, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate, task } from "../../../src/index.js";
import { serverUser } from "../support/binaries.js";
import { privateServer } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { withAddress } from "../support/url.js";
import { withWorkers } from "../support/worker-setting.js";

const pooler = suite("behind PgBouncer in transaction mode");

const program = await findProgram();
if (!program) process.stderr.write("SKIPPED: pgbouncer is not installed\n");

async function findProgram(): Promise<string | undefined> {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  for (const folder of folders) {
    const found = await access(join(folder, "pgbouncer")).then(
      () => true,
      () => false,
    );
    if (found) return join(folder, "pgbouncer");
  }
  return undefined;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

/** A pooler with two connections to the server. */
async function startPooler(url: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), "headrace-pooler-"));
  const port = await freePort();
  const [user, password] = [decodeURIComponent(server.username), decodeURIComponent(server.password)];
  await writeFile(join(folder, "users"), `"${user}" "${password}"\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, "users")}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
`,
  );
  if (serverUser) {
    for (const name of ["", "users", "pgbouncer.ini"]) {
      await chown(join(folder, name), serverUser.uid, serverUser.gid);
    }
  }
  const child: ChildProcess = spawn(program!, [join(folder, "pgbouncer.ini")], {
    ...serverUser,
    stdio: "ignore",
  });
  const through = withAddress(url, "127.0.0.1", port);
  await eventually("the pooler answers", async () => {
    const client = new pg.Client({ connectionString: through });
    return client
      .connect()
      .then(() => client.end())
      .then(
        () => true,
        () => false,
      );
  });
  return {
    url: through,
    async close() {
      if (child.exitCode === null) {
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        await gone;
      }
      await rm(folder, { recursive: true });
    },
  };
}

pooler("two connections carry a fleet, and nothing is left to a session (R-39)", async () => {
  if (!program) return;
  const { database, close } = await privateServer({ poolSize: 3, settings: { log_statement: "all" } });
  const through = await startPooler(database.url);
  try {
    const outside = new pg.Pool({ connectionString: through.url, max: 5 });
    outside.on("error", () => undefined);
    await Promise.all([1, 2, 3].map(() => migrate({ pool: outside, schema: "second install" })));
    await withWorkers(async ({ store, connect, run, until, effects }) => {
      await store.upsertConcurrencyLimit({ name: "two", queue: "capped", maxConcurrent: 2 });
      await store.upsertRateClass({ name: "class", limitPerWindow: 50, windowMs: 1_000, burst: 50 });
      const tasks = {
        once: task({
          async handler(_: unknown, job) {
            await job.once(async ({ client }) => {
              await client.query("insert into effect (job) values ($1)", [job.id]);
            });
          },
        }),
        steps: task({
          retryDelay: () => 0,
          async handler(_: unknown, job) {
            await job.step("one", () => 1);
            if (job.attempt === 0) throw new Error("once");
            await job.stepOnce("two", async ({ client }) => {
              await client.query("insert into effect (job) values ($1)", [job.id]);
            });
            await job.progress(1, 1);
            return { done: true };
          },
        }),
      };
      for (let n = 0; n < 8; n++) {
        const on = connect(through.url, { maxSize: 4 });
        await run(tasks, {
          on,
          queues: ["default", "capped"],
          workerId: `w${n}`,
          concurrency: 8,
          poll: { min: 50, max: 500 },
        });
      }
      const far = connect(through.url, { maxSize: 4 });
      assert.is(far.notifying, undefined);
      const batches = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          far.enqueue(
            Array.from({ length: 10 }, (_unused, at) => ({
              kind: at % 2 === 0 ? "once" : "steps",
              queue: at % 3 === 0 ? "capped" : "default",
              partitionKey: `p${n % 3}`,
              rateClass: "class",
              uniqueKey: `${n}/${at}`,
              retentionMs: 3_600_000,
              payload: {},
            })),
          ),
        ),
      );
      const ids = batches.flat().map(({ id }) => id);
      for (const id of ids) await until(id, "completed");
      assert.equal((await effects()).sort(), [...ids].sort());
      // A listener finds out that it would hear nothing here, and says so.
      const deaf = connect(through.url);
      deaf.withListen(through.url, { heartbeatMs: 100, minRetryMs: 50, maxRetryMs: 100 });
      assert.type(await deaf.waitWakeup([], 5_000), "string");
      await eventually(
        "it says that it is deaf",
        async () => {
          await Promise.all([far.counts(), far.counts(), far.counts()]);
          return /LISTEN has no effect/.test(String(deaf.notifying?.lastError));
        },
        60_000,
      );
      await deaf.close();
    }, database);
    await outside.end();

    const { rows } = await database.pool.query<{ log: string }>("select pg_read_file('../log') as log");
    const log = rows[0]!.log.split("\n").filter((line) => /(statement|execute [^:]*):/.test(line));
    assert.ok(log.length > 500, `only ${log.length} statements were logged`);
    const session =
      /execute (?!<unnamed>)|statement: (prepare|set (?!local|transaction)|declare)|pg_(try_)?advisory_lock|create temp/i;
    // The one that was made to listen is left out.
    const bad = log.filter(
      (line) => session.test(line) && !/set client_encoding|application_name/i.test(line),
    );
    assert.equal(bad.slice(0, 5), []);
  } finally {
    await through.close();
    await close();
  }
});

pooler.run();
