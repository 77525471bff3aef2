// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { gate, type GateClaim } from "../gate/support.js";

const back = suite("a clock that steps back");
const database = await testDatabase();
const { query, sql } = database;
const { admit, enqueue, ack, moveClock, reset, one } = gate(database);
back.before.each(reset);
back.after(() => database.close());

const now = (): Promise<number> => one<string>("select :SCHEMA.now_ms()").then(Number);
/** Between 0 and 1, the same at every run. */
const chance = (seed: number): number => (Math.imul(seed + 1, 2654435761) >>> 0) / 2 ** 32;

/** Whatever is counted and told, none of it below zero. */
async function assertNothingNegative(): Promise<void> {
  await query("select * from :SCHEMA.run_duties('janitor')");
  for (const source of [
    "queue_stats()",
    "metrics()",
    "partitions('narrow')",
    "counts('rated')",
    "counts('lost')",
  ]) {
    for (const row of await query(`select * from :SCHEMA.${source}`)) {
      for (const [name, value] of Object.entries(row))
        assert.not.ok(Number(value) < 0, `${source}: ${name} is ${String(value)} in ${JSON.stringify(row)}`);
    }
  }
}

back("loses nothing and exceeds neither budget nor ceiling under eight gates", async () => {
  const queues = ["rated", "narrow", "due", "lost"];
  const [perWindow, burst, ceiling, each] = [10, 10, 2, 160];
  // The one step that is longer than a lease lets those expire that nobody holds any more.
  const steps = [
    1500, -60_000, 2500, -90_000, -1, 700_000, -3_600_000, 40_000, -60_000, 3000, -120_000, -60_000,
  ];
  await moveClock(0);
  await query("select :SCHEMA.upsert_rate_class('api', $1, 1000, $2)", [perWindow, burst]);
  await query("select :SCHEMA.upsert_concurrency_limit('narrow', 'narrow', $1)", [ceiling]);
  const begun = await now();
  for (let part = 0; part < 4; part++) {
    const job = { retention_ms: 36_000_000, partition_key: `p${part}` };
    await enqueue(each / 4, { ...job, queue: "rated", rate_class: "api" });
    await enqueue(each / 4, { ...job, queue: "narrow" });
    await enqueue(each / 4, { ...job, queue: "due", delay_ms: 1000 * part });
    await enqueue(each / 4, { ...job, queue: "lost" });
  }
  const done: string[] = [];
  let [granted, rounds, stepped, most, latest] = [0, 0, 0, 0, begun];
  const finished = (): boolean => stepped === steps.length && done.length >= 4 * each;

  await concurrently(database, 9, async (client, index) => {
    if (index === 8) {
      for (const step of steps) {
        for (const until = rounds + 50; rounds < until && !finished();) await sleep(5);
        await moveClock(step);
        const at = await now();
        latest = Math.max(latest, at, at - step);
        const budget = burst + (perWindow * (latest - begun)) / 1000;
        assert.ok(granted > 0 && granted <= budget, `${granted} were granted of ${budget}`);
        stepped++;
      }
      // All that was put off comes due, and the bucket fills again and again.
      for (let ms = 4_000_000; !finished(); ms = 1000) {
        await moveClock(ms);
        await sleep(20);
      }
      return;
    }
    const call = (text: string, ...values: unknown[]) => client.query(sql(text), values);
    for (let n = 0; !finished(); n++) {
      assert.ok(n < 20_000, "it comes to no end");
      const options = { client, worker: `w${index}`, queues, capacity: 1 + (n % 7), leaseMs: 600_000 };
      const { claims } = await admit(options);
      granted += claims.filter(({ queue }) => queue === "rated").length;
      const { rows } = await call(
        "select coalesce(max(n), 0)::integer as most from (select count(*) as n from :SCHEMA.job " +
          "where state = 'running' and queue = 'narrow' group by partition_key) r",
      );
      most = Math.max(most, (rows[0] as { most: number }).most);
      const kept: GateClaim[] = [];
      for (const [place, claim] of claims.entries()) {
        const luck = chance(n * 64 + index * 8 + place);
        const { crash_attempt: lost } = claim as GateClaim & { readonly crash_attempt: number };
        const holder = { job_id: claim.id, lease_id: claim.lease_id, fence: Number(claim.fence) };
        // A holder that dies, one that gives back, one that renews first.
        if (claim.queue === "lost" && lost === 0 && stepped < steps.length && luck < 0.4) continue;
        if (claim.queue !== "rated" && luck > 0.9) {
          const ask = call("select :SCHEMA.release($1, $2, $3)", claim.id, claim.lease_id, claim.fence);
          await ask.catch((error: unknown) => {
            if ((error as { code?: string }).code !== "HR005") throw error;
          });
        } else {
          if (luck < 0.6) await call("select :SCHEMA.renew($1, 600000)", JSON.stringify([holder]));
          kept.push(claim);
        }
      }
      for (const claim of kept) if ((await ack([claim])) === 0) done.push(claim.id);
      if (n % 5 === index % 5) {
        await call("select * from :SCHEMA.promote_due(50)");
        await call("select * from :SCHEMA.reclaim_expired(50)");
      }
      rounds++;
    }
  });

  assert.is(done.length, 4 * each);
  assert.is(new Set(done).size, 4 * each, "each was done once");
  assert.is(most, ceiling);
  const [lost] = await query("select count(*)::integer as n from :SCHEMA.job where crash_attempt > 0");
  assert.ok(Number(lost?.["n"]) > 0, "no lease was lost");
  assert.equal(await query("select state::text, count(*)::integer as n from :SCHEMA.job group by 1"), [
    { state: "completed", n: 4 * each },
  ]);
  // An end that met a sweep leaves its lease, which counts nobody, until it expires.
  await query("update :SCHEMA.lease set expires_at_ms = 1");
  await query("select * from :SCHEMA.reclaim_expired()");
  assert.equal(await query("select * from :SCHEMA.lease where queue is not null"), []);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  await assertNothingNegative();
});

back("lets new jobs run at once, and holds nothing up for longer than it stepped", async () => {
  await query("select :SCHEMA.upsert_rate_class('api', 100, 1000, 5)");
  await query("select :SCHEMA.upsert_schedule('hourly', '0 * * * *', 'tick', queue => 'ticks')");
  // Just behind a tick, and far from the next one, however long this takes.
  const hour = 3_600_000;
  await moveClock(hour - ((await now()) % hour) + 1000);
  await query("select * from :SCHEMA.tick_schedules()");
  const ticks = (await admit({ queues: ["ticks"] })).claims.length;
  assert.ok(ticks >= 1);
  await enqueue(15);
  const before = await enqueue(3, { queue: "before" });
  assert.is((await admit({ capacity: 15 })).claims.length, 15);
  const [later] = await enqueue(1, { queue: "due", delay_ms: 600_000 });
  for (const step of [-1, -60_000, -hour]) {
    await enqueue(5, { rate_class: "api", queue: "rated" });
    await admit({ queues: ["rated"] });
    await moveClock(step);
    const fresh = await enqueue(3);
    const urgent = await enqueue(3, { priority: 5 });
    const { claims } = await admit({ capacity: 6 });
    const got = claims.map(({ id }) => id);
    assert.equal(got.sort(), [...urgent, ...fresh].sort(), `after ${step}`);
    assert.is(await ack(claims), 0);
    await query("select * from :SCHEMA.tick_schedules()");
    await query("select * from :SCHEMA.promote_due()");
    assert.equal((await admit({ queues: ["ticks", "due"] })).claims, []);
    const old = await admit({ queues: ["before"], capacity: 1 });
    assert.equal(
      old.claims.map(({ id }) => id),
      before.splice(0, 1),
    );
    await moveClock(-step);
  }
  await moveClock(600_001);
  assert.equal(
    (await admit({ queues: ["due"] })).claims.map(({ id }) => id),
    [later],
  );
  await enqueue(1, { rate_class: "api", queue: "rated" });
  assert.ok((await admit({ queues: ["rated"] })).claims.length > 0);
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
  await assertNothingNegative();
});

back("gives no token twice where some were left", async () => {
  await query("select :SCHEMA.upsert_rate_class('api', 1, 60000, 10)");
  await enqueue(60, { rate_class: "api" });
  assert.is((await admit({ capacity: 3 })).claims.length, 3);
  await moveClock(-600_000);
  assert.is((await admit({ capacity: 3 })).claims.length, 3);
  await moveClock(600_000);
  // One a minute may have come in, where this takes so long.
  const left = (await admit({ capacity: 20 })).claims.length;
  assert.ok(left >= 4 && left <= 6, `${left} were left`);
});

back("lets a duty of a dead holder last no longer than its lease, and a living one keep it", async () => {
  const claim = (name: string, holder: string): Promise<boolean> =>
    one<boolean>("select :SCHEMA.claim_duty($1, $2, 60000)", [name, holder]);
  for (const name of ["dead", "alive"]) assert.ok(await claim(name, "a"));
  await moveClock(-3_600_000);
  // Whoever asks first sees the step; nobody loses a duty to it.
  assert.not.ok(await claim("dead", "b"));
  assert.not.ok(await claim("alive", "b"));
  assert.ok(await claim("alive", "a"));
  await moveClock(40_000);
  assert.ok(await claim("alive", "a"));
  assert.not.ok(await claim("dead", "b"));
  await moveClock(40_000);
  assert.ok(await claim("dead", "b"));
  assert.not.ok(await claim("dead", "a"));
  assert.not.ok(await claim("alive", "b"));
  // One that was given up is free, whatever the clock has done.
  await query("select :SCHEMA.release_duty('dead', 'b')");
  await moveClock(-3_600_000);
  assert.ok(await claim("dead", "c"));
});

back("lets a duty that had failed run again", async () => {
  const ran = async (): Promise<boolean> =>
    (await query("select duty from :SCHEMA.run_duties('janitor')")).some(
      (row) => row["duty"] === "promote_due",
    );
  assert.ok(await ran());
  const putOff =
    "update :SCHEMA.duty set failures = 9, retry_at_ms = :SCHEMA.now_ms() + $1 where name = 'promote_due'";
  await query(putOff, [60_000]);
  assert.not.ok(await ran());
  await moveClock(-3_600_000);
  assert.ok(await ran());
});

back.run();
