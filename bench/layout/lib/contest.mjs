// One database per run: a contestant's schema and functions, and the four things a run does with them.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

const folder = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, folder), "utf8");

export const PAYLOAD_BYTES = 200;
export const LEASE_MS = 60_000;
const QUEUE = "default";
const LOAD_CHUNK = 10_000;

let databases = 0;

/** A fresh database holding the contestant, given to `body`, and dropped afterwards. */
export async function withContest(server, contestant, body) {
  const name = `layout_${(databases += 1)}`;
  await server.admin.query(`create database ${name}`);
  const setup = await server.connect(name);
  const clients = [setup];
  try {
    for (const statements of contestant.statements(read)) await setup.query(statements);
    const contest = {
      setup,
      duty: contestant.duty,
      connect: async () => {
        const client = await server.connect(name);
        clients.push(client);
        return client;
      },
    };
    return await body(contest);
  } finally {
    for (const client of clients) await client.end().catch(() => {});
    await server.admin.query(`drop database ${name} with (force)`);
  }
}

export const partitionKeys = (count) => Array.from({ length: count }, (_, i) => `p${i}`);

/** Jobs as arrays, made once and sent again and again: the client's part should stay small. */
export function batchOf(size, partitions) {
  const keys = partitionKeys(partitions);
  const payload = randomBytes(PAYLOAD_BYTES);
  return [
    Array.from({ length: size }, (_, i) => keys[i % partitions]),
    new Array(size).fill(0),
    new Array(size).fill(payload),
  ];
}

export const enqueue = (client, batch) =>
  client.query({ name: "enqueue", text: "select enqueue_batch($1, $2, $3, $4)", values: [QUEUE, ...batch] });

/** Pages that a call of claim or ack touches, whatever happens inside it. */
export async function explainedBuffers(client, text, values) {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
  const { Plan } = rows[0]["QUERY PLAN"][0];
  return Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
}

export const claim = async (client, keys, limit) =>
  (
    await client.query({
      name: "claim",
      text: "select * from claim($1, $2, $3, $4, $5)",
      values: ["worker", QUEUE, keys, limit, LEASE_MS],
    })
  ).rows;

export async function ack(client, jobs) {
  const { rows } = await client.query({
    name: "ack",
    text: "select ack($1, $2, $3) as done",
    values: [jobs[0].lease_no, jobs.map((job) => job.key), jobs.map((job) => job.fence)],
  });
  if (rows[0].done !== jobs.length) throw new Error(`acknowledged ${rows[0].done} of ${jobs.length}`);
}

/** Fills the queue on the server's side, in chunks, without ANALYZE. */
export async function load(contest, count, partitions = 1, payloadBytes = PAYLOAD_BYTES) {
  for (let done = 0; done < count; done += LOAD_CHUNK) {
    const size = Math.min(LOAD_CHUNK, count - done);
    await contest.setup.query(
      `select enqueue_batch($1, array_agg('p' || i % $2::int), array_agg(0::smallint),
                            array_agg($3::bytea))
         from generate_series(1, $4::int) i`,
      [QUEUE, partitions, randomBytes(payloadBytes), size],
    );
  }
}

/** Claims and acknowledges `count` jobs in all over the given connections. */
export async function drain(clients, { count, batch, partitions }) {
  const keys = partitionKeys(partitions);
  let done = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (done < count) {
        const jobs = await claim(client, keys, batch);
        if (jobs.length === 0) {
          if (done < count) await new Promise((resolve) => setTimeout(resolve, 2));
          continue;
        }
        done += jobs.length;
        await ack(client, jobs);
      }
    }),
  );
  return done;
}

export async function walPosition(server) {
  const { rows } = await server.admin.query(`select pg_current_wal_insert_lsn() - '0/0' as bytes`);
  return Number(rows[0].bytes);
}

/** Median of numbers. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
