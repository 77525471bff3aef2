import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { blocked } from "../support/locks.js";
import { refusal } from "../support/refusal.js";
import { gate, tally } from "./support.js";

const rates = suite("rate classes");
const database = await testDatabase();
const { query } = database;
const { admit, enqueue, ack, moveClock, reset, one } = gate(database);
rates.before.each(reset);
rates.after(() => database.close());

const limit = (name: string, perWindow: number, windowMs: number, burst: number, paused = false) =>
  query("select :SCHEMA.upsert_rate_class($1, $2, $3, $4, $5)", [name, perWindow, windowMs, burst, paused]);
const tokens = (name: string) =>
  one<string>("select tokens from :SCHEMA.rate_classes() where name = $1", [name]).then(Number);

rates("one a minute, polled twenty times a second, is one a minute", async () => {
  await limit("smtp", 1, 60_000, 1);
  await enqueue(10, { rate_class: "smtp" });
  const grants: number[] = [];
  for (let ms = 0; ms <= 130_000; ms += 50) {
    const { claims } = await admit();
    if (claims.length > 0) grants.push(ms);
    assert.ok(claims.length <= 1);
    await moveClock(50);
  }
  // The real milliseconds of the polls count too, so a grant may come earlier by them, never sooner than a minute.
  assert.is(grants.length, 3, `granted at ${grants.join(", ")}`);
});

rates("a new class starts full, and a burst is all it gives at once", async () => {
  await limit("smtp", 10, 1000, 4);
  await enqueue(20, { rate_class: "smtp" });
  assert.is((await admit({ capacity: 20 })).claims.length, 4);
  await moveClock(3_600_000);
  assert.is((await admit({ capacity: 20 })).claims.length, 4, "an hour does not save up more than the burst");
});

rates("a class without a row limits nothing, and a deleted one no more", async () => {
  await enqueue(5, { rate_class: "nobody" });
  assert.is((await admit()).claims.length, 5);
  await limit("smtp", 1, 60_000, 1);
  await enqueue(5, { rate_class: "smtp" });
  assert.is((await admit()).claims.length, 1);
  await query("select :SCHEMA.delete_rate_class('smtp')");
  assert.is((await admit()).claims.length, 4);
  const { code, fields } = await refusal(query("select :SCHEMA.delete_rate_class('smtp')"));
  assert.equal([code, fields], ["HR006", { what: "rate_class", id: "smtp" }]);
});

rates("a job of several classes needs budget in all of them", async () => {
  await limit("a", 5, 60_000, 5);
  await limit("b", 2, 60_000, 2);
  await enqueue(4, { rate_classes: ["a", "b"] });
  assert.is((await admit()).claims.length, 2);
  assert.ok(Math.abs((await tokens("a")) - 3) < 0.5, "the refused jobs cost nothing in a");
  await enqueue(4, { rate_class: "a" });
  assert.is((await admit()).claims.length, 3, "a job of a alone is not held up by b");
});

rates("weight is what a job takes; a cheap job does not overtake a dear one in its class", async () => {
  await limit("w", 1, 1000, 10);
  await enqueue(1, { rate_class: "w", weight: 8, kind: "first" });
  await enqueue(1, { rate_class: "w", weight: 5, kind: "dear" });
  await enqueue(1, { rate_class: "w", weight: 1, kind: "cheap" });
  assert.equal(
    (await admit()).claims.map((claim) => claim.kind),
    ["first"],
  );
  await moveClock(2000);
  assert.equal((await admit()).claims, []);
  await moveClock(3000);
  assert.equal((await admit()).claims.map((claim) => claim.kind)[0], "dear");
});

rates("a job dearer than the burst runs when the bucket is full, and overdraws it", async () => {
  await limit("w", 1, 1000, 3);
  await enqueue(1, { rate_class: "w", weight: 5 });
  assert.is((await admit()).claims.length, 1);
  assert.ok((await tokens("w")) < -1);
});

rates("the rest of a refill is kept, whatever the polls", async () => {
  await limit("third", 3, 1000, 1);
  await enqueue(40, { rate_class: "third" });
  let granted = 0;
  for (let ms = 0; ms < 5000; ms += 7) {
    granted += (await admit()).claims.length;
    await moveClock(7);
  }
  assert.ok(granted >= 15, `${granted} in five seconds at three a second`);
});

rates("paused and closed classes let nothing through, and start empty afterwards", async () => {
  await limit("p", 10, 1000, 10, true);
  await enqueue(5, { rate_class: "p" });
  const held = await admit();
  assert.equal([held.claims.length, held.refused], [0, { rate_class: 5 }]);
  await query("select :SCHEMA.roll_up_tallies()");
  assert.equal((await admit()).refused, { rate_class: 1 }, "the line, without a draw");
  await limit("p", 10, 1000, 10);
  assert.is((await admit()).claims.length, 0);
  await moveClock(250);
  assert.is((await admit()).claims.length, 2);
  await limit("p", 0, 1000, 10);
  await moveClock(60_000);
  assert.is((await admit()).claims.length, 0);
  await limit("p", 10, 1000, 10);
  await moveClock(150);
  assert.is((await admit()).claims.length, 1);
});

rates("a deferred class waits for the whole fleet, and the gate says until when", async () => {
  await limit("api", 100, 1000, 100);
  await enqueue(2, { rate_class: "api" });
  const until = Number(await one("select :SCHEMA.defer_rate_class('api', 30000)"));
  await query("select :SCHEMA.defer_rate_class('api', 1000)");
  const { claims, refused, nextDueMs } = await admit();
  assert.equal([claims.length, refused, nextDueMs], [0, { rate_class: 2 }, until]);
  await query("select :SCHEMA.roll_up_tallies()");
  const looked = await admit();
  assert.equal([looked.claims.length, looked.refused, looked.nextDueMs], [0, { rate_class: 1 }, until]);
  await moveClock(30_001);
  assert.is((await admit()).claims.length, 2);
  await enqueue(1, { rate_class: "unknown-so-far" });
  await query("select :SCHEMA.defer_rate_class('unknown-so-far', 5000)");
  assert.is((await admit()).claims.length, 0);
  await moveClock(5001);
  assert.is((await admit()).claims.length, 1);
});

rates("the actual weight corrects the charge once, under the fence of the ack", async () => {
  await limit("w", 1, 3_600_000, 100);
  await enqueue(3, { rate_class: "w", weight: 10 });
  const { claims } = await admit();
  assert.is(Math.round(await tokens("w")), 70);
  assert.is(await ack([{ ...claims[0]!, fence: "99" }], "success", { actual_weight: 0 }), 1);
  assert.is(Math.round(await tokens("w")), 70, "a stale holder corrects nothing");
  assert.is(await ack([claims[0]!], "success", { actual_weight: 0 }), 0);
  assert.is(Math.round(await tokens("w")), 80, "a full refund");
  assert.is(await ack([claims[0]!], "success", { actual_weight: 0 }), 1);
  assert.is(Math.round(await tokens("w")), 80);
  await ack([claims[1]!], "success", { actual_weight: 200 });
  assert.is(Math.round(await tokens("w")), -110, "an overdraft");
  await ack([claims[2]!], "success");
  assert.is(Math.round(await tokens("w")), -110, "no actual weight, no correction");
});

rates("a class made after the claim is neither debited nor refunded by its ack", async () => {
  await enqueue(1, { rate_class: "late", weight: 5 });
  const { claims } = await admit();
  await limit("late", 1, 3_600_000, 10);
  await ack(claims, "success", { actual_weight: 1 });
  assert.is(Math.round(await tokens("late")), 10);
});

rates("eight gates at once spend the bucket once", async () => {
  await limit("smtp", 1, 3_600_000, 50);
  await enqueue(200, { rate_class: "smtp" });
  const answers = await concurrently(database, 8, async (client, index) => {
    const ids: string[] = [];
    for (let round = 0; round < 20; round++) {
      ids.push(
        ...(await admit({ client, worker: `w${index}`, capacity: 5 })).claims.map((claim) => claim.id),
      );
    }
    return ids;
  });
  const ids = answers.flat();
  assert.is(ids.length, 50);
  assert.is(new Set(ids).size, 50);
});

rates("queues with different classes never wait for each other", async () => {
  await limit("a", 1, 1000, 100);
  await limit("b", 1, 1000, 100);
  await enqueue(5, { queue: "qa", rate_class: "a" });
  await enqueue(5, { queue: "qb", rate_class: "b" });
  await enqueue(5, { queue: "qc", rate_class: "a" });
  const [first, second, third] = await Promise.all([
    database.connect(),
    database.connect(),
    database.connect(),
  ]);
  await first.query("begin");
  assert.is((await admit({ client: first, queues: ["qa"] })).claims.length, 5);
  await second.query("begin");
  assert.is((await admit({ client: second, queues: ["qb"] })).claims.length, 5);
  const waiting = admit({ client: third, queues: ["qc"] });
  await blocked(database.pool, third);
  await first.query("commit");
  assert.is((await waiting).claims.length, 5);
  await second.query("commit");
  await Promise.all([first.end(), second.end(), third.end()]);
});

rates("a clock that steps back adds nothing and blocks no longer than the step", async () => {
  await limit("c", 10, 1000, 10);
  await enqueue(60, { rate_class: "c" });
  assert.is((await admit({ capacity: 20 })).claims.length, 10);
  await moveClock(-10_000);
  assert.is((await admit({ capacity: 20 })).claims.length, 0);
  await moveClock(10_000);
  await moveClock(1000);
  assert.is((await admit({ capacity: 20 })).claims.length, 10);
});

rates("jobs of an exhausted class do not stand before those that can run", async () => {
  await limit("slow", 1, 3_600_000, 1);
  await enqueue(3000, { rate_class: "slow", priority: 5 });
  await enqueue(2, { kind: "free" });
  const first = await admit({ capacity: 3 });
  assert.equal(tally(first.claims.map((claim) => claim.kind)), { free: 2, work: 1 });
  await enqueue(1, { kind: "free" });
  assert.equal(
    (await admit({ capacity: 3 })).claims.map((claim) => claim.kind),
    ["free"],
  );
});

rates("settings outside their bounds are refused by name", async () => {
  for (const [values, field] of [
    [["", 1, 1000, 1], "name"],
    [["x".repeat(256), 1, 1000, 1], "name"],
    [["x", -1, 1000, 1], "limit_per_window"],
    [["x", 1, 0, 1], "window_ms"],
    [["x", 1, 1000, 0], "burst"],
  ] as const) {
    const failed = await refusal(query("select :SCHEMA.upsert_rate_class($1, $2, $3, $4)", values));
    assert.is(failed.code, "HR007");
    assert.is(failed.fields["field"], field);
  }
  assert.is((await refusal(query("select :SCHEMA.defer_rate_class('x', 0)"))).fields["field"], "ms");
});

rates.run();
