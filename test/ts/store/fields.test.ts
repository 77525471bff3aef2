import { inspect } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, PostgresQueueBackend, StoreError } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

/** What callers without types may pass: each field that it is wrong for is named, and nothing is written. */
const fields = suite("every field of the driver, with what it can't take");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
const backend = await PostgresQueueBackend.fromPool(database.pool, { schema: database.schema });
fields.after(() => database.close());

const numbers: readonly unknown[] = [
  NaN,
  Infinity,
  -Infinity,
  1.5,
  2 ** 63,
  -(2 ** 63),
  1e300,
  "x",
  "",
  {},
  [],
  true,
];
const texts: readonly unknown[] = ["a\0b", "\ud800", "x\udc00", {}, ["a"], true, 5, Symbol.iterator];
const named = (most: number): readonly unknown[] => [...texts, "x".repeat(most + 1)];
const below = (least: number): readonly unknown[] => [...numbers, least - 1];

interface Door {
  readonly call: (given: Record<string, unknown>) => Promise<unknown>;
  readonly sound: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, readonly unknown[]>>;
}
// What a caller without types does.
const untyped = <T>(given: Record<string, unknown>): T => given as T;

const work = {
  kind: named(128),
  queue: named(255),
  partitionKey: named(255),
  rateClass: named(255),
  rateClasses: ["a", 1, true, {}, [5], [null], ["a\0"], ["x".repeat(256)], [[]]],
  priority: numbers,
  weight: below(1),
  maxAttempts: below(1),
  timeoutMs: below(0),
  retentionMs: below(0),
  headers: ["a", 1, true, [], { a: "\0" }, { "a\ud800": "b" }, { "headrace-x": "y" }],
  tags: ["a", 1, true, {}, [5], [null], ["é"], ["a\0"], [[]], ["x".repeat(65)]],
  stickyWorker: named(255),
  schemaVersion: below(1),
};

const doors: Readonly<Record<string, Door>> = {
  enqueue: {
    call: (job) => store.enqueue([untyped(job)]),
    sound: { kind: "a" },
    fields: {
      ...work,
      id: named(255),
      scheduledAtMs: below(0),
      delayMs: below(0),
      deadlineMs: below(0),
      uniqueKey: [...texts, "x".repeat(1025)],
      uniqueScope: [...texts, "x"],
      fingerprint: named(255),
      pending: ["x", 2, {}, []],
    },
  },
  upsertSchedule: {
    call: (schedule) => store.upsertSchedule(untyped(schedule)),
    sound: { id: "s", spec: "* * * * *", kind: "a" },
    fields: {
      ...work,
      id: named(255),
      spec: [...texts, "x", "0 0 30 2 *", "x".repeat(3000)],
      onMissed: [...texts, "x"],
      backfillLimit: below(0),
      graceMs: below(1),
      paused: ["x", 2, {}, []],
    },
  },
  upsertRateClass: {
    call: (rateClass) => store.upsertRateClass(untyped(rateClass)),
    sound: { name: "r", limitPerWindow: 1 },
    fields: {
      name: named(255),
      limitPerWindow: below(0),
      windowMs: below(1),
      burst: below(1),
      paused: ["x", 2, {}, []],
    },
  },
  upsertConcurrencyLimit: {
    call: (limit) => store.upsertConcurrencyLimit(untyped(limit)),
    sound: { name: "c", queue: "c", maxConcurrent: 1 },
    fields: { name: named(255), queue: named(255), maxConcurrent: below(1), onSaturated: [...texts, "x"] },
  },
  "backend.upsertJob": {
    call: (job) => backend.upsertJob(untyped(job)),
    sound: { jobId: "j", taskName: "t" },
    fields: {
      jobId: named(255),
      taskName: named(128),
      actorJson: named(65536),
      paramsJson: named(1048576),
      priority: numbers,
      pool: named(255),
      status: [...texts, "x"],
      idempotencyKey: named(1024),
      signatureHash: [1, 1.5, "1", -1n, 2n ** 64n, true, {}],
      attempt: below(1),
      delayMs: below(0),
    },
  },
  "backend.upsertRun": {
    call: (run) => backend.upsertRun(untyped(run)),
    sound: { runId: "r", jobId: "j", taskName: "t", status: "success" },
    fields: {
      runId: named(255),
      jobId: named(255),
      taskName: named(128),
      attempt: below(1),
      status: [...texts, "x"],
      startedAtMs: below(0),
      finishedAtMs: below(0),
      durationMs: below(0),
    },
  },
  "backend.upsertTaskConfig": {
    call: (policy) => backend.upsertTaskConfig(untyped(policy)),
    sound: { taskName: "t" },
    fields: { priority: numbers, pool: named(255), idempotencyMode: [...texts, "x"], retentionMs: below(0) },
  },
};

/** The other name that a field has in SQL. */
const also: Readonly<Record<string, string>> = {
  rateClass: "rateClasses",
  paramsJson: "payload",
  pool: "queue",
  jobId: "id",
};
const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const stored = (): Promise<unknown[]> =>
  database.query(
    "select (select count(*) from :SCHEMA.job), (select count(*) from :SCHEMA.schedule), (select count(*) from :SCHEMA.rate_class), " +
      "(select count(*) from :SCHEMA.concurrency_limit), (select count(*) from :SCHEMA.attempt), (select count(*) from :SCHEMA.task_config)",
  );

for (const [name, door] of Object.entries(doors)) {
  fields(name, async () => {
    const complaints: string[] = [];
    const before = await stored();
    for (const [field, values] of Object.entries(door.fields)) {
      for (const value of values) {
        const told = `${field} = ${inspect(value).slice(0, 60)}`;
        try {
          await door.call({ ...door.sound, [field]: value });
          complaints.push(`${told}: taken`);
        } catch (error) {
          const given = error instanceof StoreError ? camel(String(error.fields["field"] ?? "")) : "";
          const right =
            given === field ||
            given === also[field] ||
            given.startsWith(`${field}.`) ||
            given.startsWith(`${field}[`);
          if (!(error instanceof StoreError && error.code === "invalid" && right))
            complaints.push(`${told}: ${given} ${String(error)}`);
        }
      }
    }
    assert.equal(complaints.length, 0, complaints.join("\n"));
    assert.equal(await stored(), before, "something was written");
    await door.call({ ...door.sound });
  });
}

fields.run();
