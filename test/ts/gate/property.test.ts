import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";
import { gate, type GateClaim } from "./support.js";

/**
 * Random policies and random calls against a small model: the model knows every job and every limit, so it can say of
 * each answer whether it broke one, and at the end whether anything was left that could have run.
 */
const property = suite("the gate against a model");
const database = await testDatabase();
const { query } = database;
const { admit, ack, moveClock, reset, one } = gate(database);
property.after(() => database.close());

interface Job {
  readonly queue: string;
  readonly partition: string;
  readonly classes: readonly string[];
  readonly weight: number;
  state: "available" | "running" | "done";
}

interface Policies {
  readonly ceilings: Record<string, number | undefined>;
  readonly bursts: Record<string, number>;
  readonly weights: Record<string, number>;
}

const queues = ["qa", "qb"];
const classes = ["c1", "c2"];

const job = fc.record({
  queue: fc.constantFrom(...queues),
  partition: fc.constantFrom("", "t1", "t2", "t3"),
  classes: fc.subarray(classes),
  weight: fc.integer({ min: 1, max: 3 }),
  priority: fc.integer({ min: -1, max: 1 }),
});
type NewJob = typeof job extends fc.Arbitrary<infer T> ? T : never;

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("enqueue" as const),
      jobs: fc.array(job, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("admit" as const),
      queues: fc.subarray(queues, { minLength: 1 }),
      capacity: fc.integer({ min: 1, max: 9 }),
      quantum: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      outcome: fc.constantFrom("success", "rate_limited", "skip"),
      take: fc.nat(20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 3000 }) }),
  },
  // From then on the gate looks at the limits of lines before it draws from them, where they have held jobs back.
  { weight: 1, arbitrary: fc.constant({ do: "roll up" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("pause" as const),
      queue: fc.constantFrom(...queues),
      paused: fc.boolean(),
    }),
  },
);

const scenario = fc.record({
  ceilings: fc.record({
    qa: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    qb: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  }),
  bursts: fc.record({ c1: fc.integer({ min: 3, max: 6 }), c2: fc.integer({ min: 3, max: 6 }) }),
  weights: fc.record({ qa: fc.integer({ min: 1, max: 3 }), qb: fc.integer({ min: 1, max: 3 }) }),
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
});

/** A class gives one token each second; the model allows for the real time that the calls take. */
class Model {
  readonly jobs = new Map<string, Job>();
  readonly running: GateClaim[] = [];
  readonly paused = new Set<string>();
  readonly spent: Record<string, number> = { c1: 0, c2: 0 };
  readonly policies: Policies;
  readonly #startedMs: number;
  waitedMs = 0;

  constructor(policies: Policies) {
    this.policies = policies;
    this.#startedMs = Date.now();
  }

  add(id: string, { queue, partition, classes, weight }: NewJob): void {
    this.jobs.set(id, { queue, partition, classes, weight, state: "available" });
  }

  admitted(claims: readonly GateClaim[], asked: readonly string[], capacity: number): void {
    assert.ok(claims.length <= capacity, "more than the capacity");
    for (const claim of claims) {
      const found = this.jobs.get(claim.id);
      assert.ok(found, `${claim.id} is not a job`);
      assert.is(found.state, "available", `${claim.id} was claimed while ${found.state}`);
      assert.ok(asked.includes(found.queue), "from a queue that was not asked for");
      assert.not.ok(this.paused.has(found.queue), "from a paused queue");
      found.state = "running";
      this.running.push(claim);
      for (const name of found.classes) this.spent[name]! += found.weight;
    }
    for (const queue of queues) {
      const most = this.policies.ceilings[queue];
      if (most === undefined) continue;
      const counts = new Map<string, number>();
      for (const found of this.jobs.values()) {
        if (found.queue !== queue || found.state !== "running") continue;
        counts.set(found.partition, (counts.get(found.partition) ?? 0) + 1);
      }
      for (const [partition, count] of counts)
        assert.ok(count <= most, `${count} run in ${queue}/${partition} of ${most}`);
    }
    const seconds = (this.waitedMs + Date.now() - this.#startedMs) / 1000;
    for (const name of classes) {
      assert.ok(
        this.spent[name]! <= this.policies.bursts[name]! + seconds + 0.01,
        `class ${name} gave ${this.spent[name]}`,
      );
    }
  }

  ended(claim: GateClaim, outcome: string): void {
    this.jobs.get(claim.id)!.state = outcome === "rate_limited" ? "available" : "done";
  }

  waiting(): number {
    return [...this.jobs.values()].filter((found) => found.state === "available").length;
  }
}

async function enqueueAll(model: Model, jobs: readonly NewJob[]): Promise<void> {
  const rows = await query<{ id: string }>("select id from :SCHEMA.enqueue_many($1) order by ord", [
    JSON.stringify(
      jobs.map((each) => ({
        kind: "work",
        queue: each.queue,
        partition_key: each.partition,
        rate_classes: each.classes,
        weight: each.weight,
        priority: each.priority,
      })),
    ),
  ]);
  rows.forEach((row, at) => model.add(row.id, jobs[at]!));
}

property("no limit is exceeded, nothing is claimed twice, nothing that may run is left", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ steps, ...policies }) => {
      await reset();
      for (const queue of queues) {
        const most = policies.ceilings[queue as "qa" | "qb"];
        if (most) await query("select :SCHEMA.upsert_concurrency_limit($1, $1, $2)", [queue, most]);
        await query("select :SCHEMA.set_queue_weight($1, $2)", [
          queue,
          policies.weights[queue as "qa" | "qb"],
        ]);
      }
      for (const name of classes) {
        const burst = policies.bursts[name as "c1" | "c2"];
        await query("select :SCHEMA.upsert_rate_class($1, 1, 1000, $2)", [name, burst]);
      }
      const model = new Model(policies);
      for (const each of steps) {
        if (each.do === "enqueue") await enqueueAll(model, each.jobs);
        else if (each.do === "admit") {
          const { queues: asked, capacity, quantum } = each;
          const { claims } = await admit({ queues: asked, capacity, ...(quantum ? { quantum } : {}) });
          model.admitted(claims, asked, capacity);
        } else if (each.do === "end") {
          const [claim] = model.running.splice(each.take % Math.max(1, model.running.length), 1);
          if (!claim) continue;
          assert.is(await ack([claim], each.outcome), 0, "a holder was refused");
          model.ended(claim, each.outcome);
        } else if (each.do === "wait") {
          await moveClock(each.ms);
          model.waitedMs += each.ms;
        } else if (each.do === "roll up") {
          await query("select :SCHEMA.roll_up_tallies()");
        } else {
          await query("select :SCHEMA.set_queue_paused($1, $2)", [each.queue, each.paused]);
          if (each.paused) model.paused.add(each.queue);
          else model.paused.delete(each.queue);
        }
      }

      // With time and free places everything must come through in a bounded number of calls.
      for (const queue of queues) await query("select :SCHEMA.set_queue_paused($1, false)", [queue]);
      model.paused.clear();
      const bound = model.waiting() + 5;
      for (let call = 0; model.waiting() > 0; call++) {
        assert.ok(call <= bound, `${model.waiting()} jobs are left after ${call} calls`);
        for (const claim of model.running.splice(0)) {
          await ack([claim]);
          model.ended(claim, "success");
        }
        await moveClock(3000);
        model.waitedMs += 3000;
        const { claims } = await admit({ queues, capacity: 9 });
        assert.ok(claims.length > 0, "a call with work, budget and places admitted nothing");
        model.admitted(claims, queues, 9);
      }
      assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
      assert.is(Number(await one("select count(*) from :SCHEMA.job where state = 'available'")), 0);
    }),
    { numRuns: 25, endOnFailure: true },
  );
});

property.run();
