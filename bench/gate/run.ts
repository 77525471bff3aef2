/**
 * What the gate costs: claims of the same rows by a bare `for update skip locked`, by the gate without a policy, and by
 * the gate with one rate class, one ceiling and ten partitions; the gate's claims alone and with their acknowledgements
 * as the worker sends them, which is the rate at which it gets through no-op jobs. The variants take turns of a few calls, each in a database
 * of its own, so that the ratios hold on a machine whose speed drifts.
 *
 *   npm run bench:gate [-- --jobs 20000 --batch 100 --rounds 7]
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { migrate } from "../../src/migrate/index.js";
import { median, ratio } from "../support/figures.js";
import { benchServer } from "../support/server.js";

const { values: flags } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    batch: { type: "string", default: "100" },
    rounds: { type: "string", default: "5" },
  },
});
const jobs = Number(flags.jobs);
const batch = Number(flags.batch);
const rounds = Number(flags.rounds);
const warmUp = 10;
/** Calls that a variant makes before the next one has its turn: enough for a backend to run as a busy one does. */
const turn = 10;

const server = await benchServer();

/** The same order, the same columns back, the same write; no lease, no fence check, no fairness. */
const bareClaim = `
  with drawn as (
    select ctid from headrace.job
    where queue = 'bench' and line = (select line from headrace.lane limit 1) and stage = 1 and state = 'available'
    order by scheduled_at_ms, key
    limit $1
    for update skip locked
  )
  update headrace.job j set state = 'running', fence = fence + 1, lease_no = 0, claimed_at_ms = 1
  from drawn d where j.ctid = d.ctid
  returning coalesce(j.id, 'j' || encode(int8send(j.key), 'hex')) as id, j.kind, j.queue, j.partition_key, j.priority,
    j.attempt, j.crash_attempt, j.max_attempts, j.payload, j.schema_version, j.headers, null as lease_id, j.fence,
    null::bigint as expires_at_ms, null::jsonb as checkpoint, null::bytea as cursor, j.weight, j.rate_classes, j.timeout_ms,
    j.deadline_ms, j.enqueued_at_ms, j.scheduled_at_ms, null::jsonb as refused, null::bigint as next_due_ms,
    null::bigint as store_now_ms`;
const gateClaim = "select * from headrace.admit_hinted('bench', '{bench}', $1, 60000)";

interface Variant {
  readonly name: string;
  readonly claim: string;
  readonly partitions: number;
  /** A rate class and a ceiling for these jobs. */
  readonly policies?: boolean;
}

const variants: readonly Variant[] = [
  { name: "bare skip locked", claim: bareClaim, partitions: 1 },
  { name: "gate, no policy", claim: gateClaim, partitions: 1 },
  { name: "gate, 10 partitions, no policy", claim: gateClaim, partitions: 10 },
  { name: "gate, 10 partitions, class + ceiling", claim: gateClaim, partitions: 10, policies: true },
];

interface Contestant extends Variant {
  readonly connection: pg.Client;
}

async function enter(variant: Variant, place: number): Promise<Contestant> {
  const url = new URL(server.url);
  url.pathname = `/headrace_bench_${place}`;
  await server.pool.query(`drop database if exists headrace_bench_${place}`);
  await server.pool.query(`create database headrace_bench_${place}`);
  await migrate({ connectionString: url.href, schema: "headrace" });
  const connection = new pg.Client({ connectionString: url.href });
  await connection.connect();
  return { ...variant, connection };
}

async function prepare({ connection, partitions, policies }: Contestant): Promise<void> {
  await connection.query(
    "truncate headrace.job, headrace.lease, headrace.lane, headrace.lane_return, headrace.tally",
  );
  await connection.query("truncate headrace.rate_class, headrace.concurrency_limit");
  if (policies) {
    await connection.query("select headrace.upsert_rate_class('bench', 1000000, 1000, 1000000)");
    await connection.query("select headrace.upsert_concurrency_limit('bench', 'bench', 100)");
  }
  for (let from = 0; from < jobs; from += 1000) {
    const list = Array.from({ length: 1000 }, (_, at) => ({
      kind: "noop",
      queue: "bench",
      payload: { text: "x".repeat(180) },
      // The jobs are the same for all: they name the class whether or not it limits them.
      rate_class: "bench",
      ...(partitions > 1 ? { partition_key: `p${at % partitions}` } : {}),
    }));
    await connection.query("select count(*) from headrace.enqueue_many($1)", [JSON.stringify(list)]);
  }
  await connection.query("vacuum analyze headrace.job");
}

/** Milliseconds of a claim, and of the claim with its acknowledgement. */
interface Times {
  readonly claim: number;
  readonly both: number;
}

async function claimAndAck({ name, claim, connection }: Contestant): Promise<Times> {
  const began = performance.now();
  const { rows } = await connection.query({ name: "claim", text: claim, values: [batch] });
  const claimed = performance.now();
  const held = rows.filter(({ id }) => id !== null);
  if (held.length !== batch) throw new Error(`${name} claimed ${held.length} instead of ${batch} jobs`);
  const ending = performance.now();
  if (claim === gateClaim) {
    await connection.query({
      name: "ack",
      text: "select * from headrace.ack_batch($1, $2, $3)",
      values: [
        held.map((job) => job["id"]),
        held.map((job) => job["lease_id"]),
        held.map((job) => job["fence"]),
      ],
    });
  } else {
    await connection.query("delete from headrace.job where stage = 1 and state = 'running'");
  }
  return { claim: claimed - began, both: claimed - began + performance.now() - ending };
}

/** Jobs per second, round by round. */
interface Rates {
  readonly name: string;
  readonly claims: number[];
  readonly drains: number[];
}

const contestants: Contestant[] = [];
for (const [place, variant] of variants.entries()) contestants.push(await enter(variant, place));
const rates: Rates[] = variants.map(({ name }) => ({ name, claims: [], drains: [] }));
for (let round = 0; round < rounds; round++) {
  const times: Times[][] = contestants.map(() => []);
  for (const contestant of contestants) await prepare(contestant);
  for (let call = 0; call < jobs / batch; call += turn) {
    for (const [at, contestant] of contestants.entries()) {
      for (let of = 0; of < turn; of++) times[at]!.push(await claimAndAck(contestant));
    }
  }
  for (const [at, of] of times.entries()) {
    // Of the calls of a round the median counts: a checkpoint or a neighbour on the machine must not decide. The first ones,
    // which plan their statements, don't count.
    const counted = of.slice(warmUp);
    rates[at]!.claims.push((batch * 1000) / median(counted.map(({ claim }) => claim)));
    rates[at]!.drains.push((batch * 1000) / median(counted.map(({ both }) => both)));
  }
}

console.log(
  `PostgreSQL ${server.version}, ${jobs} jobs in claims of ${batch}, ${rounds} rounds, one connection each; jobs/s`,
);
for (const { name, claims, drains } of rates) {
  console.log(
    `${name.padEnd(40)} ${Math.round(median(claims))} claimed, ${Math.round(median(drains))} claimed and acknowledged`,
  );
}
const [bare, free, parted, full] = rates as [Rates, Rates, Rates, Rates];
console.log(`claims: gate without policy / bare           ${ratio(free.claims, bare.claims)}`);
console.log(`claims: policies on / off, 10 partitions     ${ratio(full.claims, parted.claims)}`);
console.log(`and acks: policies on / off, 10 partitions   ${ratio(full.drains, parted.drains)}`);
console.log(`and acks: policies, 10 partitions / none     ${ratio(full.drains, free.drains)}`);

for (const { connection } of contestants) await connection.end();
await server.close();
