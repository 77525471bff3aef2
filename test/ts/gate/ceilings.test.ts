import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { refusal } from "../support/refusal.js";
import { gate, tally, type GateClaim } from "./support.js";

const ceilings = suite("concurrency ceilings");
const database = await testDatabase();
const { query } = database;
const { admit, enqueue, ack, moveClock, reset, one } = gate(database);
ceilings.before.each(reset);
ceilings.after(() => database.close());

const limit = (queue: string, most: number, onSaturated = "queue", name = `limit of ${queue}`) =>
  query("select :SCHEMA.upsert_concurrency_limit($1, $2, $3, $4)", [name, queue, most, onSaturated]);
const states = async (queue: string) =>
  tally(
    (await query<{ state: string }>("select state from :SCHEMA.jobs where queue = $1", [queue])).map(
      (row) => row.state,
    ),
  );

ceilings("each partition runs as many as the ceiling says, and the rest waits", async () => {
  await limit("q", 2);
  for (const tenant of ["a", "b", "c"]) await enqueue(5, { queue: "q", partition_key: tenant });
  await enqueue(5, { queue: "free" });
  const first = await admit({ queues: ["q", "free"], capacity: 50 });
  assert.equal(tally(first.claims.map((claim) => claim.partition_key)), { "": 5, a: 2, b: 2, c: 2 });
  const second = await admit({ queues: ["q"], capacity: 50 });
  assert.equal([second.claims.length, second.refused], [0, { concurrency_limit: 9 }]);
  await query("select :SCHEMA.roll_up_tallies()");
  const looked = await admit({ queues: ["q"], capacity: 50 });
  assert.equal(
    [looked.claims.length, looked.refused],
    [0, { concurrency_limit: 3 }],
    "each line once, without a draw",
  );
  await ack(first.claims.filter((claim) => claim.partition_key === "b").slice(0, 1));
  const third = await admit({ queues: ["q"], capacity: 50 });
  assert.equal(tally(third.claims.map((claim) => claim.partition_key)), { b: 1 });
});

ceilings("partitions at their ceiling never keep those out that have room", async () => {
  // More partitions than a call looks at, of which all but one are full for a long time.
  await limit("q", 1);
  for (let tenant = 0; tenant < 100; tenant++) await enqueue(3, { queue: "q", partition_key: `t${tenant}` });
  const running: GateClaim[] = [];
  for (let call = 0; call < 40 && running.length < 100; call++)
    running.push(...(await admit({ queues: ["q"], capacity: 10 })).claims);
  assert.is(running.length, 100);
  for (const looked of [false, true]) {
    if (looked) await query("select :SCHEMA.roll_up_tallies()");
    const last = running.pop()!;
    await ack([last]);
    let next: GateClaim[] = [];
    for (let call = 0; call < 4 && next.length === 0; call++)
      next = (await admit({ queues: ["q"], capacity: 10 })).claims;
    assert.equal(
      next.map((claim) => claim.partition_key),
      [last.partition_key],
    );
    running.push(...next);
  }
});

ceilings("every way out of running gives the place back", async () => {
  await limit("q", 1);
  await enqueue(9, { queue: "q", retention_ms: 60_000 });
  const next = async (): Promise<GateClaim> => {
    const { claims } = await admit({ queues: ["q"], leaseMs: 1000 });
    assert.is(claims.length, 1, "the place was not free, or held more than one");
    assert.is((await admit({ queues: ["q"] })).claims.length, 0, "the place was given twice");
    return claims[0]!;
  };
  for (const outcome of ["success", "retry", "skip", "revoke", "undecodable"])
    await ack([await next()], outcome);
  await ack([await next()], "snooze", { delay_ms: 3_600_000 });
  await query("select :SCHEMA.operator_cancel($1)", [(await next()).id]);
  const lost = await next();
  await moveClock(1001);
  assert.is(
    (await admit({ queues: ["q"] })).claims.length,
    0,
    "a dead holder keeps its place until it is reclaimed",
  );
  assert.is((await query("select * from :SCHEMA.reclaim_expired()")).length, 1);
  assert.is(await ack([lost]), 1);
  const released = await next();
  await query("select :SCHEMA.release($1, $2, $3)", [released.id, released.lease_id, released.fence]);
  await next();
});

ceilings("eight gates never exceed it, whatever holders do", async () => {
  await limit("q", 3);
  for (let tenant = 0; tenant < 5; tenant++) await enqueue(60, { queue: "q", partition_key: `t${tenant}` });
  let most = 0;
  let done = 0;
  await concurrently(database, 8, async (client, index) => {
    for (let round = 0; round < 60 && done < 300; round++) {
      const { claims } = await admit({
        client,
        worker: `w${index}`,
        queues: ["q"],
        capacity: 1 + (round % 7),
      });
      const running = await client.query<{ most: number }>(
        database.sql(
          `select coalesce(max(n), 0)::integer as most from (
             select count(*) as n from :SCHEMA.job where state = 'running' group by partition_key) r`,
        ),
      );
      most = Math.max(most, running.rows[0]!.most);
      for (const claim of claims) {
        const outcome = ["success", "success", "rate_limited", "skip"][(round + index) % 4]!;
        if ((await ack([claim], outcome)) === 0 && outcome !== "rate_limited") done += 1;
      }
    }
  });
  assert.ok(most > 0 && most <= 3, `${most} ran at once in one partition`);
  assert.ok(done > 100, `only ${done} jobs were done`);
});

ceilings("discard archives and cancel_incoming cancels what comes to a full ceiling", async () => {
  for (const [strategy, state] of [
    ["discard", "archived"],
    ["cancel_incoming", "cancelled"],
  ] as const) {
    await limit(strategy, 2, strategy);
    await enqueue(5, { queue: strategy });
    assert.is((await admit({ queues: [strategy], capacity: 5 })).claims.length, 2);
    assert.equal(await states(strategy), { running: 2, [state]: 3 });
    const [attempts] = await query("select sum(attempt) as n from :SCHEMA.job where queue = $1", [strategy]);
    assert.is(Number(attempts!["n"]), 0, "attempt-neutral");
  }
});

ceilings("cancel_running displaces as many of the oldest as it needs, and no more", async () => {
  await limit("q", 3, "cancel_running");
  await enqueue(2, { queue: "q" });
  const old = await admit({ queues: ["q"] });
  await moveClock(10);
  const [young] = await enqueue(1, { queue: "q" });
  const middle = await admit({ queues: ["q"] });
  assert.equal(
    middle.claims.map((claim) => claim.id),
    [young],
  );
  await moveClock(10);
  await enqueue(1, { queue: "q" });
  const fresh = await admit({ queues: ["q"] });
  assert.is(fresh.claims.length, 1);
  assert.equal(await states("q"), { running: 3, cancelled: 1 });
  assert.is(await ack([old.claims[0]!]), 1, "the oldest was displaced");
  assert.is(await ack([old.claims[1]!]), 0, "the second oldest was not");
  await enqueue(9, { queue: "q" });
  assert.is(
    (await admit({ queues: ["q"], capacity: 9 })).claims.length,
    3,
    "never more than the ceiling comes in",
  );
});

ceilings("a ceiling counts what ran before it was set, and survives renewal", async () => {
  await enqueue(6, { queue: "q", partition_key: "a" });
  const before = await admit({ queues: ["q"], capacity: 4 });
  assert.is(before.claims.length, 4);
  await limit("q", 4);
  assert.is((await admit({ queues: ["q"] })).claims.length, 0);
  const held = before.claims.map(({ id, lease_id, fence }) => ({
    job_id: id,
    lease_id,
    fence: Number(fence),
  }));
  assert.equal(await query("select :SCHEMA.renew($1, 60000)", [JSON.stringify(held)]), []);
  assert.is((await admit({ queues: ["q"] })).claims.length, 0);
  assert.is(await ack(before.claims.slice(0, 1)), 0);
  assert.is((await admit({ queues: ["q"] })).claims.length, 1);
  await query("select :SCHEMA.delete_concurrency_limit('limit of q')");
  assert.is((await admit({ queues: ["q"] })).claims.length, 1);
});

ceilings("a full partition does not keep others from running", async () => {
  await limit("q", 1);
  await enqueue(3000, { queue: "q", partition_key: "full", priority: 9 });
  assert.is((await admit({ queues: ["q"], capacity: 1 })).claims.length, 1);
  await enqueue(1, { queue: "q", partition_key: "b" });
  await enqueue(1, { queue: "q", partition_key: "d" });
  const { claims } = await admit({ queues: ["q"], capacity: 2 });
  assert.equal(tally(claims.map((claim) => claim.partition_key)), { b: 1, d: 1 });
});

ceilings("settings outside their bounds, and a second name for a queue, are refused", async () => {
  await limit("q", 1);
  for (const [values, field] of [
    [["", "q", 1, "queue"], "name"],
    [["x", "x".repeat(256), 1, "queue"], "queue"],
    [["x", "other", 0, "queue"], "max_concurrent"],
    [["x", "other", 1, "drop"], "on_saturated"],
    [["x", "q", 1, "queue"], "queue"],
  ] as const) {
    const failed = await refusal(query("select :SCHEMA.upsert_concurrency_limit($1, $2, $3, $4)", values));
    assert.equal([failed.code, failed.fields["field"]], ["HR007", field]);
  }
  assert.is((await refusal(query("select :SCHEMA.delete_concurrency_limit('nobody')"))).code, "HR006");
  assert.is(await one<number>("select max_concurrent from :SCHEMA.concurrency_limits()"), 1);
});

ceilings("who waits at a ceiling is told so, and partitions shows who is held back", async () => {
  await limit("q", 1);
  const [first, second] = await enqueue(2, { queue: "q", partition_key: "a" });
  await admit({ queues: ["q"] });
  const [running] = await query("select * from :SCHEMA.explain_admission($1)", [first]);
  assert.is(running!["reason"], "running");
  const [waiting] = await query("select * from :SCHEMA.explain_admission($1)", [second]);
  assert.equal(
    [waiting!["admissible"], waiting!["reason"], waiting!["position_in_line"]],
    [false, "concurrency_limit", 1],
  );
  assert.equal(waiting!["detail"], {
    limit: "limit of q",
    max_concurrent: 1,
    on_saturated: "queue",
    running: 1,
  });
  const [partition] = await query("select * from :SCHEMA.partitions('q')");
  assert.equal(
    [partition!["partition_key"], partition!["waiting"], partition!["running"], partition!["held_back"]],
    ["a", "1", "1", "concurrency_limit"],
  );
});

ceilings("ends of one claim that miss each other leave a lease that counts nobody", async () => {
  await limit("q", 2);
  await enqueue(4, { queue: "q", partition_key: "a", retention_ms: 60_000 });
  const { claims } = await admit({ queues: ["q"], capacity: 10 });
  assert.is(claims.length, 2);
  await concurrently(database, 2, async (client, index) => {
    const { id, lease_id, fence } = claims[index]!;
    await client.query("begin");
    await client.query(database.sql("select :SCHEMA.ack($1, $2, $3, 'success')"), [id, lease_id, fence]);
    // Neither sees that the other has ended.
    await query("select pg_sleep(0.3)");
    await client.query("commit");
  });
  const leases = await query("select from :SCHEMA.lease where queue = 'q'");
  assert.is(leases.length, 1);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  assert.is((await admit({ queues: ["q"], capacity: 10 })).claims.length, 2);
  await query(
    "update :SCHEMA.lease set expires_at_ms = 1 where queue = 'q' and cardinality(keys) = 2 and not exists (" +
      "select from :SCHEMA.job j where j.lease_no = lease.lease_no)",
  );
  await query("select * from :SCHEMA.reclaim_expired()");
  assert.is((await query("select from :SCHEMA.lease where queue = 'q'")).length, 1);
});

const leases = () =>
  query<{ queue: string; partition_key: string; jobs: number }>(
    "select queue, partition_key, cardinality(keys) as jobs from :SCHEMA.lease order by queue, partition_key, jobs",
  );

ceilings("the lines of a partition share its ceiling", async () => {
  await limit("q", 5);
  for (const priority of [1, 2]) await enqueue(4, { queue: "q", partition_key: "a", priority });
  const { claims } = await admit({ queues: ["q"], capacity: 50 });
  assert.equal(tally(claims.map((claim) => String(claim.priority))), { "1": 1, "2": 4 });
  assert.is((await admit({ queues: ["q"], capacity: 50 })).claims.length, 0);
  await ack(claims.filter((claim) => claim.priority === 2));
  assert.is((await admit({ queues: ["q"], capacity: 50 })).claims.length, 3);
});

ceilings("what a call claims of a line in several rounds is counted together", async () => {
  await limit("q", 4);
  await enqueue(3, { queue: "q", deadline_ms: 1_000 });
  await enqueue(6, { queue: "q" });
  const { claims } = await admit({ queues: ["q"], capacity: 4 });
  assert.is(claims.length, 4);
  assert.equal(await leases(), [{ queue: "q", partition_key: "", jobs: 4 }]);
  assert.is((await admit({ queues: ["q"] })).claims.length, 0);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  await ack(claims);
  assert.equal(await leases(), []);
  assert.is((await admit({ queues: ["q"] })).claims.length, 2);
});

ceilings("a lease goes with the last of its jobs, in one acknowledgement or in several", async () => {
  await limit("q", 3);
  await enqueue(6, { queue: "q", partition_key: "a" });
  await enqueue(2, { queue: "free" });
  const { claims } = await admit({ queues: ["q", "free"], capacity: 50 });
  assert.is(claims.length, 5);
  const [first, second, third] = claims.filter((claim) => claim.queue === "q");
  await ack([first!]);
  assert.is((await leases()).filter((lease) => lease.queue === "q").length, 1);
  assert.is((await admit({ queues: ["q"], capacity: 1 })).claims.length, 1);
  await ack([second!, third!, ...claims.filter((claim) => claim.queue === "free")]);
  assert.equal(
    (await leases()).filter((lease) => lease.queue === "q"),
    [{ queue: "q", partition_key: "a", jobs: 1 }],
  );
  assert.is((await admit({ queues: ["q"], capacity: 50 })).claims.length, 2);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
});

ceilings("a job that is taken from an expired lease leaves it to the others", async () => {
  await limit("q", 2);
  await enqueue(2, { queue: "q", partition_key: "a" });
  const { claims } = await admit({ queues: ["q"], leaseMs: 1000 });
  assert.is(claims.length, 2);
  await moveClock(1001);
  await query("select :SCHEMA.backend_revert_job_to_queued($1)", [claims[0]!.id]);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  assert.is(await ack(claims), 1);
  assert.equal(await leases(), []);
});

ceilings("renew leaves no lease behind for a job that somebody ends meanwhile", async () => {
  await limit("q", 5);
  await enqueue(2, { queue: "q" });
  const { claims } = await admit({ queues: ["q"] });
  const holder = ({ id, lease_id, fence }: GateClaim) => ({ job_id: id, lease_id, fence: Number(fence) });
  const client = await database.connect();
  try {
    await client.query("begin");
    await client.query(database.sql("select * from :SCHEMA.ack_many($1)"), [
      JSON.stringify([{ ...holder(claims[0]!), outcome: "success" }]),
    ]);
    // The other job of the lease is not in the list, so the lease is to be parted.
    assert.equal(
      await query("select * from :SCHEMA.renew($1, 60000)", [JSON.stringify([holder(claims[0]!)])]),
      [],
    );
    await client.query("commit");
  } finally {
    await client.end();
  }
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  assert.is(await ack([claims[1]!]), 0);
  assert.equal(await query("select lease_no from :SCHEMA.lease where queue is not null"), []);
});

ceilings.run();
