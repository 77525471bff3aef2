// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { privateServer } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { effectModule, withWorkers } from "../support/worker-setting.js";

const pauses = suite("paused queues");
const kept = { retentionMs: 3_600_000 };
const once = "await job.once((tx) => effect(tx, job));";
const wait = (ms: number): string => `await new Promise((done) => setTimeout(done, ${ms}));`;

pauses(
  "a pause outlives workers and server; what is reclaimed, promoted and enqueued meanwhile waits (R-79)",
  async () => {
    const { server, database, close } = await privateServer();
    try {
      await withWorkers(async ({ store, processes, until, effects }) => {
        const { work } = await processes({
          "quick.mjs": `${effectModule} export default async (_, job) => { ${wait(30)} ${once} };`,
          "long.mjs": `${effectModule} export default async (_, job) => { ${wait(3_000)} ${once} };`,
          "hang.mjs": `${effectModule}
            export default async (_, job) => { if (job.crashAttempt === 0) { ${wait(600_000)} } ${once} };`,
          "marker.mjs": "export default () => undefined;",
        });
        const of = (kind: string, job: object = {}): { kind: string; payload: object; queue: string } => ({
          kind,
          payload: {},
          queue: "q",
          ...kept,
          ...job,
        });
        /** How often each job of the paused queues was claimed. */
        const fences = async (ids: readonly string[]): Promise<Record<string, bigint | undefined>> =>
          Object.fromEntries(
            await Promise.all(ids.map(async (id) => [id, (await store.getJob(id))?.fence] as const)),
          );
        const queues = ["--queue", "q", "--queue", "unseen", "--queue", "other"];

        // The first worker will be killed with the job that it holds.
        const doomed = await work(...queues, "--lease", "2s", "--concurrency", "1");
        const [hanging] = await store.enqueue([of("hang")]);
        await until(hanging!.id, "running");
        const loaded = await work(...queues, "--concurrency", "4");
        await store.setQueuePaused("unseen", true);
        const [long, ...load] = await store.enqueue([
          of("long", { priority: 9 }),
          ...Array.from({ length: 600 }, () => of("quick")),
        ]);
        const [scheduled] = await store.enqueue([of("quick", { delayMs: 4_000 })]);
        const unseen = await store.enqueue([1, 2, 3].map(() => of("quick", { queue: "unseen" })));
        await until(long!.id, "running");
        await eventually("it works at the load", async () => (await effects()).length > 5);

        await store.setQueuePaused("q", true);
        const all = [hanging!, long!, ...load, scheduled!, ...unseen].map(({ id }) => id);
        const claimed = await fences(all);
        assert.ok(
          Object.values(claimed).filter((fence) => fence === 0n).length > 10,
          "the load was too small",
        );

        doomed.child.kill("SIGKILL");
        await until(long!.id, "completed");
        for (const id of [hanging!.id, scheduled!.id]) await until(id, "available");
        assert.is((await store.getJob(hanging!.id))?.crashAttempt, 1);
        loaded.child.kill("SIGTERM");
        assert.is(await loaded.ended(), 0);

        await server.restart("immediate");
        const answers = (): Promise<boolean> =>
          store.counts().then(
            () => true,
            () => false,
          );
        await eventually("the store is back", answers);
        const again = await work(...queues, "--concurrency", "8");
        const late = await store.enqueue(Array.from({ length: 10 }, () => of("quick")));
        const [later] = await store.enqueue([of("quick", { delayMs: 500 })]);
        // It works: only the paused queues stand still.
        for (let round = 0; round < 5; round++) {
          const [marker] = await store.enqueue([of("marker", { queue: "other" })]);
          await until(marker!.id, "completed");
        }
        await until(later!.id, "available");
        assert.equal(await fences(all), claimed);
        const waiting = await fences([...late, later!].map(({ id }) => id));
        assert.ok(Object.values(waiting).every((fence) => fence === 0n));

        await store.setQueuePaused("q", false);
        const mine = [...all, ...Object.keys(waiting)].filter((id) => !unseen.some((job) => job.id === id));
        for (const id of mine) await until(id, "completed");
        assert.equal(
          await fences(unseen.map(({ id }) => id)),
          Object.fromEntries(unseen.map(({ id }) => [id, 0n])),
        );
        await store.setQueuePaused("unseen", false);
        for (const { id } of unseen) await until(id, "completed");
        assert.equal((await effects()).sort(), [...mine, ...unseen.map(({ id }) => id)].sort());
        again.child.kill("SIGTERM");
        assert.is(await again.ended(), 0);
      }, database);
    } finally {
      await close();
    }
  },
);

pauses.run();
