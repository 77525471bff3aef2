import { setTimeout as sleep } from "node:timers/promises";
import { Client, StoreError, task, type PgStore, type PgTx } from "../../src/index.js";

export interface Page {
  /** Pages are crawled once in a crawl. */
  readonly crawl: string;
  readonly url: string;
}

export interface Summary {
  readonly pages: number;
  /** By host. */
  readonly byHost: Readonly<Record<string, number>>;
  /** Links to pages that were known already. */
  readonly known: number;
}

const queue = "crawl";

export async function createTables(store: PgStore): Promise<void> {
  await store.pool.query(
    `create table if not exists page (
       crawl text, url text, host text not null, links integer not null, known integer not null,
       primary key (crawl, url))`,
  );
}

/** How often each host may be asked, by all workers together. */
export async function limitHosts(store: PgStore, hosts: readonly string[], perSecond: number): Promise<void> {
  for (const host of hosts) {
    await store.upsertRateClass({
      name: `fetch ${host}`,
      limitPerWindow: perSecond,
      windowMs: 1000,
      burst: perSecond,
    });
  }
}

export function createTasks(store: PgStore) {
  return {
    "crawl:page": task<Page>({
      timeout: "10s",
      async handler({ crawl, url }, job) {
        const response = await fetch(url, { signal: job.signal });
        if (response.status === 429) {
          // Nobody in the fleet asks this host before; the job keeps its place and spends no attempt.
          await response.body?.cancel();
          return job.rateLimited(`${response.headers.get("retry-after") ?? 1}s`);
        }
        if (!response.ok) throw new Error(`${url} answered ${response.status}`);
        const links = new Set(
          [...(await response.text()).matchAll(/href="([^"]+)"/g)].map(([, link]) => link!),
        );
        // The page, the jobs of its links, and the end of this job: all of it, or nothing and another attempt.
        await job.once(async (tx) => {
          let known = 0;
          // In order: two pages that find the same links in different orders would wait for each other's keys.
          for (const url of [...links].sort()) if (!(await discover(store, { crawl, url }, tx))) known++;
          await tx.client.query(
            "insert into page (crawl, url, host, links, known) values ($1, $2, $3, $4, $5)",
            [crawl, url, new URL(url).host, links.size, known],
          );
        });
      },
    }),
  };
}

/** Enqueues a page, unless it was discovered before: its key stays taken when its job has ended. False: it was. */
export async function discover(store: PgStore, { crawl, url }: Page, tx?: PgTx): Promise<boolean> {
  const { host } = new URL(url);
  try {
    await new Client(store).enqueue(
      "crawl:page",
      { crawl, url },
      {
        queue,
        uniqueKey: `${crawl} ${url}`,
        uniqueWindow: "1d",
        // Hosts take turns, and each has its limit.
        partitionKey: host,
        rateClass: `fetch ${host}`,
        ...(tx && { tx }),
      },
    );
    return true;
  } catch (error) {
    if (error instanceof StoreError && error.code === "duplicate") return false;
    throw error;
  }
}

/** Waits until no page of the queue is left to do. */
export async function finished(store: PgStore, signal?: AbortSignal): Promise<void> {
  const unfinished = ["pending", "scheduled", "available", "running", "retryable"] as const;
  for (;;) {
    const { byState } = await store.counts(queue);
    if (unfinished.every((state) => byState[state] === 0)) return;
    await sleep(100, undefined, { signal });
  }
}

export async function summarize(store: PgStore, crawl: string): Promise<Summary> {
  const { rows } = await store.pool.query<{ host: string; pages: number; known: number }>(
    `select host, count(*)::integer as pages, sum(known)::integer as known from page where crawl = $1
     group by host order by host`,
    [crawl],
  );
  return {
    pages: rows.reduce((sum, { pages }) => sum + pages, 0),
    byHost: Object.fromEntries(rows.map(({ host, pages }) => [host, pages])),
    known: rows.reduce((sum, { known }) => sum + known, 0),
  };
}
