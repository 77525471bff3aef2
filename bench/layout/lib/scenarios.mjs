// What is measured. Each scenario runs one contestant once, in a database of its own, and returns numbers.
import {
  ack,
  batchOf,
  claim,
  drain,
  enqueue,
  explainedBuffers,
  load,
  median,
  partitionKeys,
  walPosition,
  withContest,
} from "./contest.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function connections(contest, count) {
  const clients = [];
  while (clients.length < count) clients.push(await contest.connect());
  return clients;
}

/** Runs `work`, which says how many jobs it did, and relates them to time and server CPU. */
async function timed(server, work) {
  const cpu = server.cpuUs();
  const started = performance.now();
  const jobs = await work();
  const seconds = (performance.now() - started) / 1000;
  return { jobsPerSecond: jobs / seconds, cpuUsPerJob: (server.cpuUs() - cpu) / jobs };
}

async function setFullPageWrites(server, value) {
  await server.admin.query(`alter system set full_page_writes = ${value}`);
  await server.admin.query("select pg_reload_conf()");
  await sleep(100);
}

/** 1. Enqueue in batches of 1000. */
export const enqueueRate = (server, contestant, { jobs }) =>
  withContest(server, contestant, async (contest) => {
    const client = await contest.connect();
    const batch = batchOf(1000, 1);
    for (let i = 0; i < 5; i += 1) await enqueue(client, batch);
    return timed(server, async () => {
      for (let done = 0; done < jobs; done += 1000) await enqueue(client, batch);
      return jobs;
    });
  });

/** 2. Drain of a queue that was loaded a moment ago. */
export const drainRate = (server, contestant, { jobs, batch, partitions, connections: count }) =>
  withContest(server, contestant, async (contest) => {
    await load(contest, jobs + 2000, partitions);
    await server.admin.query("checkpoint");
    const clients = await connections(contest, count);
    await drain(clients, { count: 1000, batch, partitions });
    return timed(server, () => drain(clients, { count: jobs, batch, partitions }));
  });

/** 3. WAL per job, from insert to delete, and with the vacuum that follows. */
export const walPerJob = (server, contestant, { jobs, batch = 100, fullPageWrites = "off" }) =>
  withContest(server, contestant, async (contest) => {
    await setFullPageWrites(server, fullPageWrites);
    const client = await contest.connect();
    const arrivals = batchOf(1000, 1);
    await enqueue(client, arrivals);
    await drain([client], { count: 1000, batch, partitions: 1 });
    await server.admin.query("checkpoint");
    const started = await walPosition(server);
    for (let done = 0; done < jobs; done += 1000) await enqueue(client, arrivals);
    const inserted = await walPosition(server);
    await drain([client], { count: jobs, batch, partitions: 1 });
    const deleted = await walPosition(server);
    await contest.setup.query("vacuum");
    const vacuumed = await walPosition(server);
    await setFullPageWrites(server, "on");
    return {
      enqueue: (inserted - started) / jobs,
      drain: (deleted - inserted) / jobs,
      insertToDelete: (deleted - started) / jobs,
      withVacuum: (vacuumed - started) / jobs,
    };
  });

/** 4. The first 10,000 jobs of a backlog that was loaded a moment ago and never analysed. */
export const backlogDrain = (server, contestant, { backlog, batch = 100, jobs = 10_000 }) =>
  withContest(server, contestant, async (contest) => {
    await load(contest, backlog);
    await server.admin.query("checkpoint");
    const client = await contest.connect();
    return timed(server, () => drain([client], { count: jobs, batch, partitions: 1 }));
  });

/** 5. A fixed rate in and out while another session holds an old snapshot. One row for
 *  each window, the first before the snapshot is taken. */
export const oldSnapshot = (server, contestant, options) => {
  const { rate, batch = 100, consumers = 2, windowSeconds = 60, windows } = options;
  return withContest(server, contestant, async (contest) => {
    const [producer, holder, janitor, ...workers] = await connections(contest, consumers + 3);
    const keys = partitionKeys(1);
    const arrivals = batchOf(batch, 1);
    const started = performance.now();
    let running = true;
    let scheduled = 0;
    let sent = 0;
    let settled = 0;
    let claimMs = [];

    async function work(client) {
      while (running) {
        const before = performance.now();
        const jobs = await claim(client, keys, batch);
        if (jobs.length === 0) {
          await sleep(5);
          continue;
        }
        claimMs.push(performance.now() - before);
        await ack(client, jobs);
        settled += jobs.length;
      }
    }
    // A contestant that falls behind is not buried: at most 20 batches stay outstanding.
    async function produce() {
      while (running) {
        const due = ((performance.now() - started) / 1000) * rate;
        if (scheduled < due && sent - settled < 20 * batch) {
          await enqueue(producer, arrivals);
          sent += batch;
          scheduled = Math.max(scheduled + batch, due - 10 * batch);
        } else {
          await sleep(2);
        }
      }
    }
    async function attend() {
      while (running && contest.duty) {
        await janitor.query(contest.duty);
        await sleep(1000);
      }
    }
    const all = [produce(), attend(), ...workers.map(work)];

    async function measure() {
      claimMs = [];
      const before = settled;
      const measured = await timed(server, async () => {
        await sleep(windowSeconds * 1000);
        return Math.max(settled - before, 1);
      });
      return { ...measured, claimMs: claimMs.length ? median(claimMs) : Infinity };
    }

    await sleep(3000);
    const rows = [await measure()];
    await holder.query("begin isolation level repeatable read");
    await holder.query("select from pg_class limit 1");
    while (rows.length <= windows) rows.push(await measure());
    running = false;
    await Promise.all(all);
    return rows;
  });
};

/** 6. Pages touched by a claim and an acknowledgement of 100 jobs, whatever the statistics say. */
export async function plans(server, contestant, { jobs = 200_000 } = {}) {
  const batch = 100;
  const claimText = "select * from claim('worker', 'default', '{p0}', 100, 60000)";

  async function measure(client) {
    await ack(client, await claim(client, ["p0"], batch)); // fills the session's caches
    const claimed = await explainedBuffers(client, claimText);
    const held = await claim(client, ["p0"], batch);
    const acked = await explainedBuffers(client, "select ack($1, $2, $3)", [
      held[0].lease_no,
      held.map((job) => job.key),
      held.map((job) => job.fence),
    ]);
    return { claim: claimed, ack: acked };
  }
  /** A session whose plans are made now, from the statistics of now. */
  async function plannedSession(contest) {
    const client = await contest.connect();
    await claim(client, ["p0"], batch);
    await client.query("select ack(0, '{0}', '{1}')");
    return client;
  }

  const situations = {
    "loaded, never analysed": async (contest) => {
      await load(contest, jobs);
      return measure(await contest.connect());
    },
    "planned and analysed while empty, then loaded": async (contest) => {
      await contest.setup.query("analyze");
      const client = await plannedSession(contest);
      await load(contest, jobs);
      return measure(client);
    },
    "loaded and analysed": async (contest) => {
      await load(contest, jobs);
      await contest.setup.query("analyze");
      return measure(await contest.connect());
    },
    "drained under an old snapshot, analysed, used again": async (contest) => {
      const holder = await contest.connect();
      await holder.query("begin isolation level repeatable read");
      await holder.query("select from pg_class limit 1");
      await load(contest, 50_000);
      await drain([await contest.connect()], { count: 50_000, batch: 500, partitions: 1 });
      await sleep(1100);
      await contest.setup.query("vacuum analyze");
      const client = await plannedSession(contest);
      await sleep(1100);
      await plannedSession(contest);
      await load(contest, 1000);
      return measure(client);
    },
  };
  const rows = {};
  for (const [name, situation] of Object.entries(situations)) {
    rows[name] = await withContest(server, contestant, situation);
  }
  return rows;
}

/** 7. Share of the claims that were HOT updates, by size of the payload. */
export const hotShare = (server, contestant, { jobs = 10_000, payloadBytes }) =>
  withContest(server, contestant, async (contest) => {
    await contest.setup.query("alter table job set (autovacuum_enabled = off)");
    await load(contest, jobs, 1, payloadBytes);
    const client = await contest.connect();
    await drain([client], { count: jobs, batch: 100, partitions: 1 });
    await client.query("select pg_stat_force_next_flush()");
    await client.query("select 1");
    const { rows } = await contest.setup.query(
      "select n_tup_hot_upd::float8 / n_tup_upd as share from pg_stat_user_tables where relname = 'job'",
    );
    return rows[0].share;
  });
