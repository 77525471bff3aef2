import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { gate, type GateClaim } from "./support.js";

/**
 * Everything at once: claims over several queues with and without a quantum, producers, ends of all kinds, cancels,
 * reclaims, roll-ups and the retirement of lines. No limit is passed at any time, no call fails, nothing is left.
 */
const rivals = suite("the gate among rivals");
const database = await testDatabase();
const { query, sql } = database;
const { admit, ack, reset, one } = gate(database);
rivals.before.each(reset);
rivals.after(() => database.close());

const queues = ["qa", "qb", "qc"];
const most: Record<string, number> = { qa: 2, qb: 3 };
const bursts: Record<string, number> = { c1: 20, c2: 15 };

/** The same numbers for the same seed, from 0 up to below `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

function jobsOf(next: (below: number) => number): Record<string, unknown>[] {
  return Array.from({ length: 1 + next(30) }, () => ({
    kind: "work",
    queue: queues[next(3)],
    partition_key: `p${next([3, 8, 70][next(3)]!)}`,
    priority: next(4) === 0 ? 3 : 0,
    weight: 1 + next(2),
    rate_classes: Object.keys(bursts).filter(() => next(4) === 0),
  }));
}

async function end(client: pg.Client, claims: readonly GateClaim[], outcome: string): Promise<void> {
  const acks = claims.map((claim) => ({
    job_id: claim.id,
    lease_id: claim.lease_id,
    fence: Number(claim.fence),
    outcome,
  }));
  await client.query(sql("select count(*) from :SCHEMA.ack_many($1)"), [JSON.stringify(acks)]);
}

for (const strategy of ["queue", "discard", "cancel_incoming", "cancel_running"]) {
  rivals(`no limit is passed and no call fails: ${strategy}`, async () => {
    for (const [queue, count] of Object.entries(most))
      await query("select :SCHEMA.upsert_concurrency_limit($1, $1, $2, $3)", [queue, count, strategy]);
    // No token comes back while the test runs, so all that was ever granted is known from what was asked.
    for (const [name, burst] of Object.entries(bursts))
      await query("select :SCHEMA.upsert_rate_class($1, 1, 86400000, $2)", [name, burst]);
    const granted: Record<string, number> = { c1: 0, c2: 0 };

    await concurrently(database, 8, async (client, index) => {
      const next = numbers(index);
      for (let call = 0; call < 12; call++) {
        if (index < 2) {
          const text = JSON.stringify(jobsOf(next));
          await client.query(sql("select count(*) from :SCHEMA.enqueue_many($1)"), [text]);
        } else if (index === 2) {
          for (const sweep of ["reclaim_expired()", "roll_up_tallies()", "retire_lanes(100)"])
            await client.query(sql(`select :SCHEMA.${sweep}`));
        } else if (index === 3) {
          const { rows } = await client.query<{ queue: string; count: string }>(
            sql(
              `select queue, partition_key, count(*) from :SCHEMA.job where state = 'running' group by 1, 2`,
            ),
          );
          for (const row of rows) assert.ok(Number(row.count) <= (most[row.queue] ?? Infinity), row.queue);
        } else {
          const { claims } = await admit({
            client,
            worker: `w${index}`,
            queues: queues.slice(next(3)),
            capacity: [1, 3, 20][next(3)]!,
            ...(next(3) === 0 ? { quantum: 1 + next(3) } : {}),
          });
          for (const claim of claims as unknown as { rate_classes: string[] | null; weight: number }[])
            for (const name of claim.rate_classes ?? []) granted[name]! += claim.weight;
          const half = claims.splice(0, next(claims.length + 1));
          await end(client, half, ["success", "skip", "rate_limited"][next(3)]!);
          if (next(3) === 0) {
            await client.query(
              sql(`select :SCHEMA.cancel_jobs(array(select :SCHEMA.job_key(i) from unnest($1::text[]) i))`),
              [claims.map((claim) => claim.id)],
            );
          } else if (next(4) > 0) {
            await end(client, claims, "success");
          }
        }
      }
    });
    for (const [name, burst] of Object.entries(bursts))
      assert.ok(granted[name]! > 0 && granted[name]! <= burst, `${name} gave ${granted[name]} of ${burst}`);
    assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);

    for (const queue of Object.keys(most))
      await query("select :SCHEMA.delete_concurrency_limit($1)", [queue]);
    for (const name of Object.keys(bursts)) await query("select :SCHEMA.delete_rate_class($1)", [name]);
    for (let empty = 0; empty < 3;) {
      const { claims } = await admit({ queues, capacity: 200 });
      empty = claims.length === 0 ? empty + 1 : 0;
      await ack(claims);
    }
    assert.is(await one("select count(*) from :SCHEMA.job where state = 'available'").then(Number), 0);
  });
}

rivals(
  "a claim that is rolled back leaves tokens, leases, lines, turns and shares as they were",
  async () => {
    await query("select :SCHEMA.upsert_rate_class('c1', 1, 86400000, 5)");
    await query("select :SCHEMA.upsert_concurrency_limit('qa', 'qa', 3)");
    const jobs = Array.from({ length: 40 }, (_, at) => ({
      kind: "work",
      queue: at % 4 === 0 ? "qb" : "qa",
      partition_key: `p${at}`,
      rate_classes: ["c1"],
    }));
    await query("select count(*) from :SCHEMA.enqueue_many($1)", [JSON.stringify(jobs)]);
    const state = () =>
      query(
        `select (select json_agg(c) from :SCHEMA.rate_class c) as classes, (select count(*) from :SCHEMA.lease) as leases,
        (select json_agg(l order by l.no) from :SCHEMA.lane l) as lines,
        (select json_agg(p) from :SCHEMA.partition p) as turns, (select json_agg(s) from :SCHEMA.queue_share s) as shares,
        (select count(*) from :SCHEMA.tally) as counters,
        (select count(*) from :SCHEMA.job j where j.state = 'available') as waiting`,
      );
    const before = await state();
    const client = await database.connect();
    await client.query("begin");
    assert.is((await admit({ client, queues, capacity: 4, quantum: 2 })).claims.length, 4);
    assert.is((await admit({ client, queues, capacity: 4 })).claims.length, 1);
    await client.query("rollback");
    assert.equal(await state(), before);
  },
);

rivals("a named job that its class holds back says when it can run", async () => {
  await query("select :SCHEMA.upsert_rate_class('c1', 1, 60000, 1)");
  const job = JSON.stringify([{ kind: "work", rate_classes: ["c1"] }]);
  const named = async () => {
    const [{ id }] = (await query<{ id: string }>("select id from :SCHEMA.enqueue_many($1)", [job])) as [
      { id: string },
    ];
    return query<{ id: string | null; refused: unknown; next_due_ms: string | null }>(
      "select id, refused, next_due_ms from :SCHEMA.admit_hinted('w', '{default}', 1, 60000, null, null, $1)",
      [id],
    );
  };
  assert.is((await named()).length, 2);
  const refilledMs = await one<string>("select refilled_at_ms from :SCHEMA.rate_class").then(Number);
  const [hint] = await named();
  assert.equal([hint?.id, hint?.refused], [null, { rate_class: 1 }]);
  assert.is(Number(hint?.next_due_ms), refilledMs + 60_000);
});

rivals.run();
