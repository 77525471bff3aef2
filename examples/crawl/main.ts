/**
 * npm run example:crawl
 *
 * Crawls a site of two hosts that is started here: every page found enqueues the pages that it links to, each once; a rate
 * class limits how often each host is asked, and one that answers 429 is left in peace for as long as it says. Ends when
 * every page was crawled.
 */
import { randomUUID } from "node:crypto";
import { PgStore, Worker } from "../../src/index.js";
import { openDatabase } from "../lib/database.js";
import { createTables, createTasks, discover, finished, limitHosts, summarize } from "./crawl.js";
import { startFakeSite } from "./site.js";

const database = await openDatabase();
const store = await PgStore.connect(database.url, { listen: true });
const site = await startFakeSite();
await createTables(store);
await limitHosts(store, site.hosts, 20);

const worker = new Worker(store, { queues: ["crawl"], concurrency: 8, tasks: createTasks(store) });
await worker.start();

const crawl = randomUUID();
const began = Date.now();
await discover(store, { crawl, url: site.home });
await finished(store);

const { pages, byHost, known } = await summarize(store, crawl);
console.log(`crawled ${pages} pages in ${((Date.now() - began) / 1000).toFixed(1)} s`);
for (const [host, count] of Object.entries(byHost)) console.log(`  ${count} of ${host}`);
console.log(`${known} links led to pages that were known already`);
console.log(`${site.refused} requests were told to come back later, and did`);
const twice = [...site.served.values()].filter((times) => times > 1).length;
console.log(`${twice} pages were fetched more than once`);

await worker.stop();
await store.close();
await site.close();
await database.close();
