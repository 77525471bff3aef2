import { suite } from "uvu";
import * as assert from "uvu/assert";
import type pg from "pg";
import { Client, PgStore, StoreError } from "../../../src/index.js";
import { concurrently } from "../support/concurrently.js";
import { testDatabase } from "../support/database.js";
import { ack, admit, admitOne, enqueue } from "../support/jobs.js";
import { blocked } from "../support/locks.js";
import { refusal } from "../support/refusal.js";

const producers = suite("producers under concurrency");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;
const sql = (text: string): string => database.sql(text);

interface Placed {
  readonly id: string | null;
  readonly disposition: string;
  readonly existing_id: string | null;
}

/** Lets callers go on when so many have come. */
function barrier(count: number): () => Promise<void> {
  let open = (): void => undefined;
  const all = new Promise<void>((resolve) => (open = resolve));
  return () => {
    if (--count === 0) open();
    return all;
  };
}

async function put(
  client: pg.ClientBase | pg.Pool,
  jobs: readonly Record<string, unknown>[],
  mode = "error",
): Promise<Placed[]> {
  const { rows } = await client.query<Placed>(
    sql("select id, disposition, existing_id from :SCHEMA.enqueue_many($1, $2)"),
    [JSON.stringify(jobs.map((job) => ({ kind: "task", ...job }))), mode],
  );
  return rows;
}

for (const [name, key] of [
  ["lifecycle key", { unique_key: "k" }],
  ["window", { unique_key: "w", unique_window_ms: 60_000 }],
  ["id", { id: "chosen", payload: 1 }],
] as const) {
  producers(
    `a producer waits for the rival that holds its ${name}: rolled back it is in, committed it is told (R-20)`,
    async () => {
      const [first, second] = [await database.connect(), await database.connect()];
      await first.query("begin");
      const rival = await put(first, [key]);
      const waiting = put(second, [key], "report");
      await blocked(database.pool, second);
      await first.query("rollback");
      const [mine] = await waiting;
      assert.is(mine?.disposition, "inserted");
      assert.is(rival[0]?.disposition, "inserted");

      await query("select :SCHEMA.delete_job($1)", [mine?.id]);
      await query("delete from :SCHEMA.throttle");
      await first.query("begin");
      const [winner] = await put(first, [key]);
      const told = put(second, [key], "report");
      await blocked(database.pool, second);
      await first.query("commit");
      const [answer] = await told;
      assert.is(answer?.disposition, name === "id" ? "replayed" : "duplicate");
      assert.is(answer?.existing_id, winner?.id);
      assert.is((await query("select from :SCHEMA.get_job($1)", [winner?.id])).length, 1);
    },
  );
}

producers("a key whose holder ends while the producer waits is free", async () => {
  const job = { queue: "ends", unique_key: "ends" };
  await enqueue(database, job);
  const claim = await admitOne(database, { queue: "ends" });
  const [holder, producer] = [await database.connect(), await database.connect()];
  await holder.query("begin");
  await holder.query(sql("select :SCHEMA.complete($1, $2, $3)"), [claim.id, claim.lease_id, claim.fence]);
  const waiting = put(producer, [job], "report");
  await blocked(database.pool, producer);
  await holder.query("commit");
  assert.is((await waiting)[0]?.disposition, "inserted");
});

producers("a duplicate in an open transaction does not hold up the job that it met", async () => {
  const job = { queue: "met", unique_key: "met" };
  await enqueue(database, job);
  const claim = await admitOne(database, { queue: "met" });
  const producer = await database.connect();
  await producer.query("begin; set local statement_timeout = '20s'");
  assert.is((await put(producer, [job], "report"))[0]?.disposition, "duplicate");
  const holder = await database.connect();
  await holder.query("set lock_timeout = '5s'");
  await holder.query(sql("select :SCHEMA.ack($1, $2, $3)"), [claim.id, claim.lease_id, claim.fence]);
  await producer.query("commit");
});

producers("a replace that meets a claim in flight says that it replaced nothing", async () => {
  const job = { queue: "inflight", unique_key: "inflight", payload: 1 };
  const id = await enqueue(database, job);
  const [claimer, producer] = [await database.connect(), await database.connect()];
  await claimer.query("begin");
  await claimer.query(sql("select from :SCHEMA.admit('w', array['inflight'])"));
  const waiting = refusal(put(producer, [{ ...job, payload: 2, unique_replace: ["payload"] }]));
  await blocked(database.pool, producer);
  await claimer.query("commit");
  assert.equal((await waiting).fields, { existing_id: id, replaced: false });
});

producers("batches of shuffled keys never deadlock, and each key ends with one live job (R-22)", async () => {
  const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`);
  const workers = concurrently(database, 2, async (client, index) => {
    for (let n = 0; n < 25; n++) {
      const { rows } = await client.query<{ id: string; lease_id: string; fence: string }>(
        sql("select id, lease_id, fence from :SCHEMA.admit($1, array['shuffled'], 30)"),
        [`w${index}`],
      );
      const acks = rows.map(({ id, ...holder }) => ({ job_id: id, ...holder, outcome: "success" }));
      await client.query(sql("select from :SCHEMA.ack_many($1)"), [JSON.stringify(acks)]);
    }
  });
  await concurrently(database, 8, async (client) => {
    for (let n = 0; n < 12; n++) {
      const batch = [...keys].sort(() => Math.random() - 0.5).slice(0, 20);
      const jobs = batch.map((unique_key) => ({ queue: "shuffled", unique_key }));
      await put(client, jobs, "report").catch((error: unknown) => {
        throw new Error(`a batch failed: ${String(error)}`);
      });
      // One by one the rest is filled in, in whatever order.
      for (const job of jobs) await put(client, [job], "report");
    }
  });
  await workers;
  const doubled = await query(
    "select unique_key from :SCHEMA.job where queue = 'shuffled' and stage < 2 group by unique_key having count(*) > 1",
  );
  assert.equal(doubled, []);
});

for (const [name, field] of [
  ["keys", "unique_key"],
  ["ids", "id"],
] as const) {
  const key = (n: number): Record<string, unknown> => ({ [field]: `list-${n}` });
  producers(`a list of ${name} waits for its rival: rolled back it is in, committed it is told`, async () => {
    const [first, second] = [await database.connect(), await database.connect()];
    const list = [3, 1, 2].map(key);
    for (const end of ["rollback", "commit"]) {
      await first.query("begin");
      const [rival] = await put(first, [{ ...key(2), payload: "rival" }]);
      const waiting = put(second, list, "report");
      await blocked(database.pool, second);
      await first.query(end);
      const answers = await waiting;
      if (end === "rollback") {
        assert.equal(
          answers.map(({ disposition }) => disposition),
          ["inserted", "inserted", "inserted"],
        );
        for (const { id } of answers) await query("select :SCHEMA.delete_job($1)", [id]);
      } else {
        assert.equal(
          answers.map(({ disposition }) => disposition),
          ["withheld", "withheld", name === "ids" ? "id_conflict" : "duplicate"],
        );
        assert.is(answers[2]?.existing_id, rival?.id);
        assert.is((await query("select from :SCHEMA.get_job($1)", [rival?.id])).length, 1);
      }
    }
  });
}

producers("a list meets a job that ends before it can be named: its key is free", async () => {
  const jobs = ["a", "b", "c"].map((name) => ({ queue: "met-list", unique_key: `met-${name}` }));
  await enqueue(database, { ...jobs[0] });
  const claim = await admitOne(database, { queue: "met-list" });
  const [rival, producer] = [await database.connect(), await database.connect()];
  await rival.query("begin");
  await put(rival, jobs.slice(1, 2));
  const waiting = put(producer, jobs, "report");
  await blocked(database.pool, producer);
  await ack(database, claim, "success");
  await rival.query("rollback");
  assert.equal(
    (await waiting).map(({ disposition }) => disposition),
    ["inserted", "inserted", "inserted"],
  );
  assert.is((await query("select from :SCHEMA.job where queue = 'met-list' and stage = 1")).length, 3);
});

producers("lists of shuffled ids and keys never deadlock, and no id is there twice", async () => {
  const names = Array.from({ length: 80 }, (_, n) => `mixed-${n}`);
  await concurrently(database, 8, async (client) => {
    for (let n = 0; n < 12; n++) {
      const chosen = [...names].sort(() => Math.random() - 0.5).slice(0, 30);
      const jobs = chosen.map((name, at) =>
        at % 2 ? { queue: "mixed", id: name } : { queue: "mixed", unique_key: name },
      );
      await put(client, jobs, "report");
      await put(
        client,
        chosen.map((id) => ({ queue: "mixed", id })),
        "report",
      );
    }
  });
  const rows = await query("select id from :SCHEMA.job where queue = 'mixed' and id is not null");
  assert.ok(rows.length > 0);
  assert.is(new Set(rows.map(({ id }) => id as string)).size, rows.length);
});

producers(
  "key lists in opposite order in callers' transactions: one of them is told, by SQLSTATE (R-22)",
  async () => {
    const [first, second] = [await database.connect(), await database.connect()];
    await first.query("begin");
    await second.query("begin");
    await put(first, [{ unique_key: "x1" }]);
    await put(second, [{ unique_key: "x2" }]);
    const ends = await Promise.allSettled([
      put(first, [{ unique_key: "x2" }], "report").finally(() => first.query("rollback")),
      put(second, [{ unique_key: "x1" }], "report").finally(() => second.query("rollback")),
    ]);
    const failures = ends.flatMap((end) =>
      end.status === "rejected" ? [end.reason as { code?: string }] : [],
    );
    assert.equal(
      failures.map(({ code }) => code),
      ["40P01"],
    );
  },
);

producers("who lost a deadlock of single enqueues has written nothing and may do it all again", async () => {
  const store = new PgStore(database.pool, { schema: database.schema });
  const client = new Client(store);
  const key = (name: string): { uniqueKey: string; queue: string } => ({ uniqueKey: name, queue: "crossed" });
  const meeting = barrier(2);
  let lost = 0;
  const both = async (first: string, second: string): Promise<void> => {
    for (let tried = 1; ; tried++) {
      try {
        await store.transaction(async (tx) => {
          for (const name of [first, second]) {
            await client.enqueue("task", null, { ...key(name), tx }).catch((error: unknown) => {
              if (!(error instanceof StoreError && error.code === "duplicate")) throw error;
            });
            if (tried === 1 && name === first) await meeting();
          }
        });
        return;
      } catch (error) {
        assert.instance(error, StoreError);
        const { code, sqlstate, retryable } = error as StoreError;
        assert.equal({ code, sqlstate, retryable }, { code: "backend", sqlstate: "40P01", retryable: true });
        lost++;
      }
    }
  };
  await Promise.all([both("y1", "y2"), both("y2", "y1")]);
  assert.is(lost, 1);
  assert.is((await query("select from :SCHEMA.job where queue = 'crossed'")).length, 2);
});

producers("single enqueues in one order wait for each other and never deadlock", async () => {
  const names = Array.from({ length: 10 }, (_, n) => `sorted-${n}`);
  await concurrently(database, 4, async (client) => {
    for (let n = 0; n < 6; n++) {
      await client.query("begin");
      for (const unique_key of names) await put(client, [{ queue: "sorted", unique_key }], "report");
      await client.query(n % 2 === 0 ? "rollback" : "commit");
    }
  });
  assert.is((await query("select from :SCHEMA.job where queue = 'sorted'")).length, names.length);
});

producers(
  "an open producer holds up nobody, not even in a queue and a partition that nobody has seen (R-29)",
  async () => {
    for (const fresh of [false, true]) {
      const queue = fresh ? "brand-new" : "known";
      if (!fresh) {
        await enqueue(database, { queue, partition_key: "p" });
        for (const claim of await admit(database, { queue })) await ack(database, claim, "success");
      }
      const open = await database.connect();
      await open.query("begin");
      await put(open, [{ queue, partition_key: "p" }]);
      const mine = await concurrently(database, 6, async (client, index) => {
        await client.query("set lock_timeout = '5s'");
        let done = 0;
        for (let n = 0; n < 5; n++) {
          await put(client, [{ queue, partition_key: "p" }]);
          const { rows } = await client.query<{ id: string; lease_id: string; fence: string }>(
            sql("select id, lease_id, fence from :SCHEMA.admit($1, array[$2], 4)"),
            [`w${index}`, queue],
          );
          for (const claim of rows) {
            await client.query(sql("select :SCHEMA.ack($1, $2, $3)"), [
              claim.id,
              claim.lease_id,
              claim.fence,
            ]);
            done++;
          }
        }
        await client.query(sql("select from :SCHEMA.run_duties($1)"), [`h${index}`]);
        return done;
      });
      const rest = await admit(database, { queue, capacity: 100 });
      for (const claim of rest) await ack(database, claim, "success");
      assert.is(mine.reduce((sum, done) => sum + done, 0) + rest.length, 30);
      await open.query("commit");
      assert.is((await admit(database, { queue })).length, 1, "and is found when it commits");
    }
  },
);

producers("with a limit producers wait for each other, and the limit holds (R-29)", async () => {
  await query("select :SCHEMA.set_enqueue_limit('limited', 10)");
  const results = await concurrently(database, 6, async (client) => {
    let inserted = 0;
    for (let n = 0; n < 5; n++) {
      const [row] = await put(client, [{ queue: "limited" }], "report");
      if (row?.disposition === "inserted") inserted++;
      else assert.is(row?.disposition, "backpressure");
    }
    return inserted;
  });
  assert.is(
    results.reduce((sum, n) => sum + n, 0),
    10,
  );
});

producers.after(() => database.close());
producers.run();
