import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";

/** How much the gate may touch for a call of 16: a few pages for each statement and each job, whatever waits behind. */
const bound = 3000;

const buffers = suite("buffers of the gate at a large backlog");
const database = await testDatabase();
const { query } = database;
buffers.after(() => database.close());

/** again: the call is measured on what it found the first time, not on what it left. */
async function touched(call: string, again = false): Promise<number> {
  const client = await database.connect();
  try {
    await client.query("begin");
    // Warm: what counts is the work, not the first reading of the catalogue.
    await client.query("savepoint cold");
    await client.query(database.sql(call));
    if (again) await client.query("rollback to savepoint cold");
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
      database.sql(`explain (analyze, buffers, format json) ${call}`),
    );
    await client.query("rollback");
    const plan = rows[0]!["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!;
  } finally {
    await client.end();
  }
}

buffers("a call of 16 touches as little at 120,000 waiting jobs as at 400 (R-81)", async () => {
  const calls = {
    "one partition": "select count(*) from :SCHEMA.admit_hinted('w', '{one}', 16, 1000)",
    "ten partitions": "select count(*) from :SCHEMA.admit_hinted('w', '{ten}', 16, 1000)",
    "an exhausted class": "select count(*) from :SCHEMA.admit_hinted('w', '{classed}', 16, 1000)",
    "a full ceiling": "select count(*) from :SCHEMA.admit_hinted('w', '{ceiled}', 16, 1000)",
    "several queues": "select count(*) from :SCHEMA.admit_hinted('w', '{one,ten,classed,ceiled}', 16, 1000)",
  };
  await query("select :SCHEMA.upsert_rate_class('slow', 1, 3600000, 1)");
  await query("select :SCHEMA.upsert_concurrency_limit('c', 'ceiled', 2)");
  const fill = (jobs: number) =>
    query(
      `select (select count(*) from :SCHEMA.enqueue_many(
          (select json_agg(json_build_object('kind', 'work', 'queue', q, 'partition_key',
            case when q = 'ten' then (i % 10)::text else '' end,
            'rate_class', case when q = 'classed' then 'slow' end))
          from generate_series(1, 5000) i)))
       from unnest(array['one', 'ten', 'classed', 'ceiled']) q cross join generate_series(1, $1) n`,
      [jobs / 5000],
    );
  await query(
    `select :SCHEMA.enqueue('work', queue => q, partition_key => case when q = 'ten' then (i % 10)::text else '' end,
        rate_class => case when q = 'classed' then 'slow' end)
     from unnest(array['one', 'ten', 'classed', 'ceiled']) q cross join generate_series(1, 100) i`,
  );
  const small = new Map<string, number>();
  for (const [name, call] of Object.entries(calls)) small.set(name, await touched(call));
  await fill(30_000);
  for (const [name, call] of Object.entries(calls)) {
    const large = await touched(call);
    assert.ok(large <= bound, `${name}: ${large} buffers`);
    assert.ok(large <= small.get(name)! * 2 + 300, `${name}: ${small.get(name)} buffers, then ${large}`);
  }
});

async function holders(queue: string, more = ""): Promise<string> {
  const [row] = await query<{ list: string }>(
    `select json_agg(json_build_object('job_id', :SCHEMA.job_id(j.key, j.id), 'lease_id', l.lease_id,
        'fence', j.fence${more})) as list
     from :SCHEMA.lease l cross join unnest(l.keys) k join :SCHEMA.job j on j.key = k
     where j.queue = '${queue}' and j.state = 'running'`,
  );
  return `'${JSON.stringify(row!.list)}'::json`;
}

async function holderLists(queue: string): Promise<string> {
  const [row] = await query<{ lists: string }>(
    `select format('%L, %L, %L', array_agg(:SCHEMA.job_id(j.key, j.id)), array_agg(l.lease_id), array_agg(j.fence)) as lists
     from :SCHEMA.lease l cross join unnest(l.keys) k join :SCHEMA.job j on j.key = k
     where j.queue = '${queue}' and j.state = 'running'`,
  );
  return row!.lists;
}

const acks = async (queue: string) =>
  touched(`select count(*) from :SCHEMA.ack_many(${await holders(queue, ", 'outcome', 'success'")})`, true);

async function claim(queue: string, jobs: number, partitions: number): Promise<void> {
  await query(
    `select count(*) from :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'work', 'queue', $1::text,
        'partition_key', i % $3::integer)) from generate_series(1, $2::integer) i))`,
    [queue, jobs, partitions],
  );
  await query("select count(*) from :SCHEMA.admit('w', array[$1], $2, 600000)", [queue, jobs]);
}

buffers("renewing the jobs of many leases looks at each once", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('many', 'many', 1000)");
  await claim("many", 1200, 400);
  const jobs = 1200;
  const all = await touched(`select count(*) from :SCHEMA.renew(${await holders("many")}, 600000)`, true);
  assert.ok(all <= 60 * jobs, `${all} buffers`);
});

buffers("acks of jobs of one long lease do not read its list each", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('long', 'long', 100000)");
  await claim("long", 4000, 1);
  await claim("free", 4000, 1);
  const free = await acks("free");
  const long = await acks("long");
  assert.ok(long <= free * 1.25 + 20_000, `${long} buffers under a ceiling, ${free} without`);
});

buffers("an ack does not walk what was deleted beside it while an old snapshot is open", async () => {
  await claim("plain", 10, 1);
  await claim("successes", 10, 1);
  const old = await database.connect();
  try {
    await old.query("begin isolation level repeatable read");
    await old.query("select 1");
    await query("insert into :SCHEMA.job_extra (key) select 1000000 + n from generate_series(1, 60000) n");
    await query("delete from :SCHEMA.job_extra");
    const some = await acks("plain");
    assert.ok(some <= 400, `${some} buffers for ten acks`);
    const successes = await touched(
      `select count(*) from :SCHEMA.ack_batch(${await holderLists("successes")})`,
      true,
    );
    assert.ok(successes <= 400, `${successes} buffers for ten successes`);
  } finally {
    await old.end();
  }
});

buffers.run();
