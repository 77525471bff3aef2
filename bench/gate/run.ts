/**
 * What the gate costs: claims of the same rows by a bare `for update skip locked`, by the gate without a policy, and by
 * the gate with one rate class, one ceiling and ten partitions; the gate's claims alone and with their acknowledgements,
 * which is the rate at which a worker gets through no-op jobs. The variants take turns, so that the ratios hold on a machine
 * whose speed drifts.
 *
 *   npm run bench:gate [-- --jobs 20000 --batch 100 --rounds 7]
 */
import { parseArgs } from "node:util";
import type pg from "pg";
import { median, ratio } from "../support/figures.js";
import { benchServer } from "../support/server.js";

const { values: flags } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    batch: { type: "string", default: "100" },
    rounds: { type: "string", default: "7" },
  },
});
const jobs = Number(flags.jobs);
const batch = Number(flags.batch);
const rounds = Number(flags.rounds);
const warmUp = 10;

const server = await benchServer();
const client = await server.pool.connect();

/** The same order, the same columns back, the same write; no lease, no fence check, no fairness. */
const bareClaim = `
  with drawn as (
    select ctid from headrace.job
    where queue = 'bench' and partition_key = '' and sticky_worker = '' and class_key = '' and stage = 1
      and state = 'available'
    order by priority desc, scheduled_at_ms, key
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

async function prepare({ partitions, policies }: Variant): Promise<void> {
  await client.query(
    "truncate headrace.job, headrace.lease, headrace.lane, headrace.lane_return, headrace.tally",
  );
  await client.query("truncate headrace.rate_class, headrace.concurrency_limit");
  if (policies) {
    await client.query("select headrace.upsert_rate_class('bench', 1000000, 1000, 1000000)");
    await client.query("select headrace.upsert_concurrency_limit('bench', 'bench', 100)");
  }
  for (let from = 0; from < jobs; from += 1000) {
    const list = Array.from({ length: 1000 }, (_, at) => ({
      kind: "noop",
      queue: "bench",
      payload: { text: "x".repeat(180) },
      // The jobs are the same with and without the policies: they name the class in any case.
      ...(partitions > 1 ? { partition_key: `p${at % partitions}`, rate_class: "bench" } : {}),
    }));
    await client.query("select count(*) from headrace.enqueue_many($1)", [JSON.stringify(list)]);
  }
  await client.query("vacuum analyze headrace.job");
}

interface Rates {
  /** Jobs per second of the claims alone. */
  readonly claims: number;
  /** Jobs per second of the claims and the acknowledgements. */
  readonly drain: number;
}

/** Claims all and is done with each batch before the next; the first claims, which plan their statements, don't count. */
async function measure(variant: Variant, connection: pg.ClientBase): Promise<Rates> {
  await prepare(variant);
  const claims: number[] = [];
  const acks: number[] = [];
  for (let claimed = 0; claimed < jobs;) {
    const began = performance.now();
    const { rows } = await connection.query({ name: variant.name, text: variant.claim, values: [batch] });
    claims.push(performance.now() - began);
    const holders = rows.filter(({ id }) => id !== null).map(toSuccess);
    if (holders.length === 0) throw new Error(`${variant.name} stopped after ${claimed} of ${jobs} jobs`);
    claimed += holders.length;
    const ending = performance.now();
    if (variant.claim === gateClaim) {
      await connection.query({
        name: "ack",
        text: "select * from headrace.ack_many($1)",
        values: [JSON.stringify(holders)],
      });
    } else {
      await connection.query("delete from headrace.job where stage = 1 and state = 'running'");
    }
    acks.push(performance.now() - ending);
  }
  // Of the calls of one run the median counts: a checkpoint or a neighbour on the machine must not decide.
  const rate = (times: readonly number[]): number => (batch * 1000) / median(times.slice(warmUp));
  return { claims: rate(claims), drain: rate(claims.map((claim, at) => claim + acks[at]!)) };
}

const toSuccess = (claim: Record<string, unknown>) => ({
  job_id: claim["id"],
  lease_id: claim["lease_id"],
  fence: Number(claim["fence"]),
  outcome: "success",
});

const rates = new Map<string, Rates[]>(variants.map(({ name }) => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const variant of variants) {
    const rate = await measure(variant, client);
    if (round > 0) rates.get(variant.name)!.push(rate);
  }
}

console.log(
  `PostgreSQL ${server.version}, ${jobs} jobs in claims of ${batch}, ${rounds} rounds, one connection; jobs/s`,
);
for (const { name } of variants) {
  const of = rates.get(name)!;
  const [claims, drain] = [median(of.map((rate) => rate.claims)), median(of.map((rate) => rate.drain))];
  console.log(
    `${name.padEnd(40)} ${Math.round(claims)} claimed, ${Math.round(drain)} claimed and acknowledged`,
  );
}
const [bare, free, parted, full] = variants.map(({ name }) => rates.get(name)!);
const claims = (of: readonly Rates[]): number[] => of.map((rate) => rate.claims);
const drains = (of: readonly Rates[]): number[] => of.map((rate) => rate.drain);
console.log(`claims: gate without policy / bare           ${ratio(claims(free!), claims(bare!))}`);
console.log(`claims: policies on / off, 10 partitions     ${ratio(claims(full!), claims(parted!))}`);
console.log(`and acks: policies on / off, 10 partitions   ${ratio(drains(full!), drains(parted!))}`);
console.log(`and acks: policies, 10 partitions / none     ${ratio(drains(full!), drains(free!))}`);

client.release();
await server.close();
