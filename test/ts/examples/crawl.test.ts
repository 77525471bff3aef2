import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  createTables,
  createTasks,
  discover,
  finished,
  limitHosts,
  summarize,
} from "../../../examples/crawl/crawl.js";
import { startFakeSite } from "../../../examples/crawl/site.js";
import { PgStore, Worker } from "../../../src/index.js";
import { dropTestSchemas, testQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { runExample } from "./support.js";

const crawls = suite("example crawl");
const database = await testDatabase({ installed: false });

crawls("every page once, and again when its host was busy", async () => {
  const { pool } = database;
  await using queue = await testQueue({ pool });
  const { store } = queue;
  const site = await startFakeSite({ hosts: 2, pages: 20 });
  const perSecond = 10;
  await createTables(store);
  await limitHosts(store, site.hosts, perSecond);
  const workers = [1, 2].map(
    () =>
      new Worker(new PgStore(pool, { schema: store.schema }), {
        queues: ["crawl"],
        concurrency: 4,
        maxTransactions: 3,
        tasks: createTasks(store),
      }),
  );
  try {
    assert.is(await discover(store, { crawl: "c", url: site.home }), true);
    assert.is(await discover(store, { crawl: "c", url: site.home }), false);
    await Promise.all(workers.map((worker) => worker.start()));
    await finished(store);
    assert.is(site.served.size, 40);
    assert.equal([...new Set(site.served.values())], [1], "no page twice");
    const [first = "", second = ""] = site.hosts;
    const { known, ...summary } = await summarize(store, "c");
    assert.equal(summary, { pages: 40, byHost: { [first]: 20, [second]: 20 } });
    const { rows } = await pool.query<{ links: number }>(
      "select sum(links)::integer as links from page where crawl = 'c'",
    );
    assert.is(known, rows[0]!.links - 39, "all links but the 39 that discovered a page");
    assert.ok(site.refused >= 4, `${site.refused} requests were refused`);
    assert.equal(await store.verifyInvariants(), []);
    // A 429 is no failed attempt.
    await store.rollUpTallies();
    const minutes = await store.history("crawl", Date.now() - 600_000);
    assert.is(
      minutes.reduce((sum, { completed }) => sum + completed, 0),
      40,
    );
    assert.is(
      minutes.reduce((sum, { failed }) => sum + failed, 0),
      0,
    );
    assert.equal((await store.listJobs({ queue: "crawl" })).jobs, []);
    // Found again, the pages stay known; in another crawl they are new.
    assert.is(await discover(store, { crawl: "c", url: site.home }), false);
    assert.is(await discover(store, { crawl: "d", url: site.home }), true);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop({ mode: "abort" })));
    await site.close();
  }
});

crawls("no host is asked more often than its limit says", async () => {
  await using queue = await testQueue({ pool: database.pool });
  const { store } = queue;
  const [pages, perSecond] = [12, 4];
  const site = await startFakeSite({ hosts: 2, pages, busyEvery: Infinity });
  await createTables(store);
  await limitHosts(store, site.hosts, perSecond);
  const worker = new Worker(store, { queues: ["crawl"], tasks: createTasks(store) });
  try {
    const began = performance.now();
    await discover(store, { crawl: "limits", url: site.home });
    await worker.start();
    await finished(store);
    const tookMs = performance.now() - began;
    assert.is(site.served.size, 2 * pages);
    // Only what may be saved up is free.
    const leastMs = ((pages - perSecond) / perSecond) * 1000;
    assert.ok(tookMs > leastMs - 100, `${tookMs} ms for what must take ${leastMs} ms`);
  } finally {
    await worker.stop({ mode: "abort" });
    await site.close();
  }
});

crawls("as a program: it ends by itself, with a summary", async () => {
  const example = runExample("crawl", database.url);
  try {
    assert.is(await example.ended(), 0, example.output);
    assert.match(example.output, /crawled 60 pages in/);
    assert.equal(example.output.match(/^ {2}30 of 127\.0\.0\.1:\d+$/gm)?.length, 2);
    assert.match(example.output, /\n[1-9]\d* requests were told to come back later, and did/);
    assert.match(example.output, /\n0 pages were fetched more than once/);
  } finally {
    example.child.kill("SIGKILL");
  }
});

crawls.after(async () => {
  await dropTestSchemas({ url: database.url });
  await database.close();
});
crawls.run();
