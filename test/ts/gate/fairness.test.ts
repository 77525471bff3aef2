// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { gate, tally } from "./support.js";

const fairness = suite("fairness and shares");
const database = await testDatabase();
const { query } = database;
const { admit, enqueue, ack, reset, one } = gate(database);
fairness.before.each(reset);
fairness.after(() => database.close());

const byPartition = (claims: readonly { partition_key: string }[]) =>
  tally(claims.map((claim) => claim.partition_key));
const byQueue = (claims: readonly { queue: string }[]) => tally(claims.map((claim) => claim.queue));
const weigh = (queue: string, weight: number) =>
  query("select :SCHEMA.set_queue_weight($1, $2)", [queue, weight]);

for (const quantum of [3, undefined]) {
  fairness(`a flood leaves room for the small, quantum ${quantum ?? "automatic"}`, async () => {
    await enqueue(5000, { partition_key: "a" });
    for (const small of ["b", "c"]) await enqueue(3, { partition_key: small });
    const { claims } = await admit({ capacity: 9, ...(quantum ? { quantum } : {}) });
    assert.equal(byPartition(claims), { a: 3, b: 3, c: 3 });
  });
}

for (const [quantum, expected] of [
  [1, { a: 1, b: 1, c: 1 }],
  [2, { a: 2, b: 2, c: 2 }],
  [3, { a: 3, b: 3 }],
  [1000, { a: 4, b: 2 }],
] as const) {
  fairness(`three partitions of four, capacity six, quantum ${quantum}`, async () => {
    for (const tenant of ["a", "b", "c"]) await enqueue(4, { partition_key: tenant });
    assert.equal(byPartition((await admit({ capacity: 6, quantum })).claims), expected);
  });
}

fairness("a turn that the capacity cut short goes on in the next call", async () => {
  for (const tenant of ["a", "b"]) await enqueue(400, { partition_key: tenant });
  const shares: Record<string, number> = { a: 0, b: 0 };
  for (let call = 0; call < 30; call++) {
    for (const { partition_key } of (await admit({ capacity: 10, quantum: 7 })).claims)
      shares[partition_key]! += 1;
    assert.ok(
      Math.abs(shares["a"]! - shares["b"]!) <= 7,
      `after ${call + 1} calls ${JSON.stringify(shares)}`,
    );
  }
});

fairness("two partitions that always have work stay level, whatever the capacity", async () => {
  for (const tenant of ["a", "b"]) await enqueue(600, { partition_key: tenant });
  const shares: Record<string, number> = { a: 0, b: 0 };
  for (let call = 0; call < 100; call++) {
    const { claims } = await admit({ capacity: 1 + 2 * (call % 5) });
    for (const { partition_key } of claims) shares[partition_key]! += 1;
    assert.ok(
      Math.abs(shares["a"]! - shares["b"]!) <= 5,
      `after ${call + 1} calls ${JSON.stringify(shares)}`,
    );
  }
});

fairness("what one partition can't use goes to the others", async () => {
  await enqueue(1, { partition_key: "a" });
  await enqueue(100, { partition_key: "b" });
  assert.equal(byPartition((await admit({ capacity: 20 })).claims), { a: 1, b: 19 });
});

fairness("newcomers start in the first round, by default (R-77)", async () => {
  await enqueue(9000, { partition_key: "a" });
  for (let tenant = 0; tenant < 10; tenant++) await enqueue(1, { partition_key: `new${tenant}` });
  const { claims } = await admit({ capacity: 16 });
  assert.equal(Object.keys(byPartition(claims)).length, 11);
});

fairness(
  "thousands of partitions all have their turn, and an empty one costs a newcomer nothing",
  async () => {
    const jobs = Array.from({ length: 6000 }, (_, at) => ({ kind: "work", partition_key: `t${at % 2000}` }));
    await query("select count(*) from :SCHEMA.enqueue_many($1)", [JSON.stringify(jobs)]);
    const seen = new Map<string, number>();
    for (let call = 0; call < 130; call++) {
      const { claims } = await admit({ capacity: 16 });
      for (const { partition_key } of claims) seen.set(partition_key, (seen.get(partition_key) ?? 0) + 1);
      await ack(claims);
    }
    assert.is(seen.size, 2000, "every partition was served in about 2000 / 16 calls");
    assert.ok(Math.max(...seen.values()) <= 2);
    await enqueue(1, { partition_key: "quiet" });
    const { claims } = await admit({ capacity: 16 });
    assert.ok(
      claims.some((claim) => claim.partition_key === "quiet"),
      "a new tenant waits for nobody",
    );
    await ack(claims);
    for (let call = 0; call < 300; call++) {
      const answer = await admit({ capacity: 64 });
      await ack(answer.claims);
      if (answer.claims.length === 0 && (await one<string>("select count(*) from :SCHEMA.job")) === "0")
        break;
    }
    assert.is(await one<string>("select count(*) from :SCHEMA.job"), "0", "nothing is left behind");
  },
);

fairness(
  "a tenant that was served before and is empty comes to the front when it has work again",
  async () => {
    for (let tenant = 0; tenant < 300; tenant++) await enqueue(20, { partition_key: `flood${tenant}` });
    await enqueue(1, { partition_key: "quiet" });
    for (let call = 0; call < 25; call++) await ack((await admit({ capacity: 16 })).claims);
    await enqueue(1, { partition_key: "quiet" });
    const { claims } = await admit({ capacity: 16 });
    assert.ok(claims.some((claim) => claim.partition_key === "quiet"));
  },
);

fairness("priority orders a partition and never crosses partitions or queues", async () => {
  await enqueue(3, { partition_key: "a", priority: 99, kind: "high" });
  await enqueue(3, { partition_key: "a", kind: "low" });
  await enqueue(3, { partition_key: "b", kind: "other" });
  const { claims } = await admit({ capacity: 4 });
  assert.equal(tally(claims.map((claim) => claim.kind)), { high: 2, other: 2 });
  const rest = (await admit({ capacity: 10 })).claims.filter((claim) => claim.partition_key === "a");
  assert.equal(
    rest.map((claim) => claim.kind),
    ["high", "low", "low", "low"],
  );
});

fairness("weights three to one give six to two of eight, even against priority", async () => {
  await weigh("a", 3);
  await enqueue(100, { queue: "a" });
  await enqueue(100, { queue: "b", priority: 99 });
  assert.equal(byQueue((await admit({ queues: ["a", "b"], capacity: 8 })).claims), { a: 6, b: 2 });
});

fairness("weights hold one job at a time, and a change of weight gives no burst", async () => {
  await weigh("a", 3);
  await enqueue(200, { queue: "a" });
  await enqueue(200, { queue: "b" });
  const take = async (calls: number) => {
    const queues: string[] = [];
    for (let call = 0; call < calls; call++) {
      queues.push(...(await admit({ queues: ["a", "b"], capacity: 1 })).claims.map((claim) => claim.queue));
    }
    return tally(queues);
  };
  assert.equal(await take(40), { a: 30, b: 10 });
  await weigh("a", 1);
  assert.equal(await take(20), { a: 10, b: 10 });
});

fairness("an idle queue's share goes to the others, and it comes back without a burst", async () => {
  await enqueue(200, { queue: "a" });
  assert.equal(byQueue((await admit({ queues: ["a", "b"], capacity: 60 })).claims), { a: 60 });
  await enqueue(100, { queue: "b" });
  const { a = 0, b = 0 } = byQueue((await admit({ queues: ["a", "b"], capacity: 20 })).claims);
  assert.ok(a >= 9 && b >= 9, `a ${a}, b ${b}`);
});

fairness("eight gates over twenty partitions take each job once and leave none", async () => {
  const jobs = Array.from({ length: 1000 }, (_, at) => ({
    kind: "work",
    queue: `q${at % 2}`,
    partition_key: `t${at % 20}`,
    priority: at % 3,
  }));
  await query("select count(*) from :SCHEMA.enqueue_many($1)", [JSON.stringify(jobs)]);
  const ids = (
    await concurrently(database, 8, async (client, index) => {
      const mine: string[] = [];
      for (let empty = 0; empty < 5;) {
        const { claims } = await admit({
          client,
          worker: `w${index}`,
          queues: ["q0", "q1"],
          capacity: 1 + index,
        });
        if (claims.length === 0) empty += 1;
        mine.push(...claims.map((claim) => claim.id));
      }
      return mine;
    })
  ).flat();
  assert.is(ids.length, 1000);
  assert.is(new Set(ids).size, 1000);
});

/** One job for each of so many partitions of a queue. */
const spread = async (count: number, queue: string, job: Record<string, unknown> = {}) => {
  const jobs = Array.from({ length: count }, (_, at) => ({
    kind: "work",
    queue,
    partition_key: `p${String(at).padStart(3, "0")}`,
    ...job,
  }));
  await query("select count(*) from :SCHEMA.enqueue_many($1)", [JSON.stringify(jobs)]);
};

fairness("a worker with one free place gets past many drained partitions", async () => {
  await spread(25, "default");
  assert.is((await admit({ capacity: 25 })).claims.length, 25);
  await enqueue(1, { partition_key: "z" });
  assert.equal(byPartition((await admit({ capacity: 1 })).claims), { z: 1 });
});

fairness("a worker with one free place gets past many full partitions, before any roll-up", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('one', 'default', 1)");
  await spread(25, "default");
  assert.is((await admit({ capacity: 25 })).claims.length, 25);
  await spread(25, "default");
  await enqueue(1, { partition_key: "z" });
  assert.equal(byPartition((await admit({ capacity: 1 })).claims), { z: 1 });
});

fairness("a queue all of whose partitions are full leaves the place to the queue ahead of it", async () => {
  await query("select :SCHEMA.upsert_concurrency_limit('one', 'full', 1)");
  await spread(80, "full");
  assert.is((await admit({ queues: ["full"], capacity: 80 })).claims.length, 80);
  await spread(80, "full");
  await query("insert into :SCHEMA.queue_share (queue, position) values ('full', 0), ('open', 5)");
  await enqueue(1, { queue: "open" });
  assert.equal(byQueue((await admit({ queues: ["full", "open"], capacity: 1 })).claims), { open: 1 });
});

for (const quantum of [3, undefined]) {
  const how = quantum ? "with a quantum" : "without a quantum";
  fairness(
    `partitions whose jobs are too dear for their class leave the place to others, ${how}`,
    async () => {
      await query("select :SCHEMA.upsert_rate_class('c', 1, 86400000, 2)");
      await query("update :SCHEMA.rate_class set level = 1.5 * window_ms");
      for (let more = 0; more < 2; more++) await spread(25, "default", { rate_classes: ["c"], weight: 2 });
      await enqueue(4, { partition_key: "z" });
      for (const capacity of [1, 2]) {
        const { claims } = await admit({ capacity, ...(quantum ? { quantum } : {}) });
        assert.equal(byPartition(claims), { z: capacity });
      }
    },
  );
}

for (const [capacity, quantum] of [
  [9, 4],
  [5, 3],
] as const) {
  fairness(`three full partitions stay within a quantum of ${quantum} in calls of ${capacity}`, async () => {
    const had: Record<string, number> = { a: 0, b: 0, c: 0 };
    for (const partition of Object.keys(had)) await enqueue(150, { partition_key: partition });
    for (let call = 0; call < 25; call++) {
      const { claims } = await admit({ capacity, quantum });
      assert.is(claims.length, capacity);
      for (const claim of claims) had[claim.partition_key]! += 1;
      const counts = Object.values(had);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= quantum, JSON.stringify(had));
    }
  });
}

fairness.run();
