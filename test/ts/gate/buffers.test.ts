import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";

/** How much the gate may touch for a call of 16: a few pages for each statement and each job, whatever waits behind. */
const bound = 3000;

const buffers = suite("buffers of the gate at a large backlog");
const database = await testDatabase();
const { query } = database;
buffers.after(() => database.close());

async function touched(call: string): Promise<number> {
  const client = await database.connect();
  try {
    await client.query("begin");
    // Warm: what counts is the work, not the first reading of the catalogue.
    await client.query(database.sql(call));
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

buffers("a call of 16 touches as little at 120,000 waiting jobs as at 400", async () => {
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

buffers.run();
