// timeout: 300 s
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../../scripts/lib/source.js";
import { PgStore } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const processes = suite("worker processes");

const tasks = {
  "slow.mjs": "export default () => new Promise((done) => setTimeout(done, 60_000));",
  "mail/quick.mjs": "export default (payload) => payload.n * 2;",
  "second.mjs": "export const kind = 'other:name'; export const handler = () => 'by name';",
  "poison.mjs": "export default () => process.kill(process.pid, 'SIGKILL');",
};

interface Setting {
  readonly store: PgStore;
  /** Starts `headrace work` and waits until it says that it runs. */
  work(...args: string[]): Promise<ChildProcess>;
  until(what: string, met: () => Promise<boolean>): Promise<void>;
}

function test(name: string, body: (setting: Setting) => Promise<void>): void {
  processes(name, async () => {
    const database = await testDatabase();
    const store = new PgStore(database.pool, { schema: database.schema });
    const folder = await mkdtemp(join(tmpdir(), "headrace-tasks-"));
    await mkdir(join(folder, "mail"));
    for (const [file, text] of Object.entries(tasks)) await writeFile(join(folder, file), text);
    const children: ChildProcess[] = [];
    try {
      await body({
        store,
        async work(...args) {
          const child = spawn(
            process.execPath,
            [
              "--import",
              "tsx",
              "src/cli/main.ts",
              "work",
              "--tasks",
              folder,
              "--schema",
              database.schema,
              ...args,
            ],
            {
              cwd: root,
              env: { ...process.env, DATABASE_URL: database.url },
              stdio: ["ignore", "pipe", "ignore"],
            },
          );
          children.push(child);
          // A poison may kill it before it has said anything.
          await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
          return child;
        },
        async until(what, met) {
          for (let tries = 0; tries < 1200; tries++) {
            if (await met()) return;
            await sleep(50);
          }
          assert.unreachable(`never: ${what}`);
        },
      });
    } finally {
      for (const child of children) child.kill("SIGKILL");
      await rm(folder, { recursive: true });
    }
    await database.close();
  });
}

const ended = async (child: ChildProcess): Promise<number | null> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
};

test("a job whose worker is killed runs elsewhere, and counts a crash (R-01)", async ({
  store,
  work,
  until,
}) => {
  const [job] = await store.enqueue([{ kind: "slow", payload: {} }]);
  const id = job?.id ?? "";
  const first = await work("--lease", "1s", "--worker-id", "first");
  await until("runs in the first", async () => (await store.getJob(id))?.state === "running");
  first.kill("SIGKILL");
  const second = await work("--lease", "1s", "--worker-id", "second", "--grace", "100ms");
  await until("runs in the second", async () => {
    const found = await store.getJob(id);
    return found?.state === "running" && found.crashAttempt === 1;
  });
  assert.is((await store.getJob(id))?.attempt, 0);
  assert.is((await store.listAttempts(id))[0]?.outcome, "lease_lost");
  // What the second holds is handed back unharmed when it is asked to stop.
  second.kill("SIGTERM");
  assert.is(await ended(second), 0);
  const handedBack = await store.getJob(id);
  assert.is(handedBack?.state, "available");
  assert.is(handedBack?.crashAttempt, 1);
});

test("a folder of tasks: by file name, by folder, by exports", async ({ store, work, until }) => {
  const jobs = await store.enqueue([
    { kind: "mail:quick", payload: { n: 21 }, retentionMs: 60_000 },
    { kind: "other:name", payload: {}, retentionMs: 60_000 },
  ]);
  await work();
  await until("both are done", async () => (await store.counts()).byState.completed === 2);
  const results = await Promise.all(jobs.map(({ id }) => store.getJobResult(id)));
  assert.equal(
    results.map((result) => Buffer.from(result?.bytes ?? "").toString()),
    ["42", '"by name"'],
  );
});

test("a poison is quarantined, and its neighbours are not (R-10)", async ({ store, work, until }) => {
  const poison = { kind: "poison", payload: {} };
  const neighbours = Array.from({ length: 8 }, (_, n) => ({
    kind: "mail:quick",
    payload: { n },
    retentionMs: 3_600_000,
  }));
  const [job] = await store.enqueue([poison, ...neighbours]);
  let deaths = 0;
  let supervising = true;
  const supervise = async (): Promise<void> => {
    while (supervising) {
      const child = await work("--lease", "1s");
      await ended(child);
      if (child.signalCode === "SIGKILL") deaths++;
    }
  };
  void supervise();
  await until("quarantined", async () => (await store.getJob(job?.id ?? ""))?.state === "quarantined");
  await until("the neighbours are done", async () => (await store.counts()).byState.completed === 8);
  supervising = false;
  assert.is(deaths, 3);
  const refused = await store.enqueue([poison]).catch((error: unknown) => error as { code: string });
  assert.is((refused as { code: string }).code, "quarantined");
});

processes.run();
