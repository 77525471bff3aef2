// timeout: 240 s
import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { backendPid, blocked } from "../support/locks.js";
import { refusal } from "../support/refusal.js";
import { storeError } from "../support/store-error.js";

const reindex = suite("rebuilding indexes");
const database = await testDatabase();
const { query } = database;
const store = new PgStore(database.pool, { schema: database.schema });
const index = "job_line";

reindex.after(() => database.close());

const leftovers = async (): Promise<string[]> =>
  (await store.indexHealth())
    .filter(({ leftover, valid }) => {
      assert.ok(!leftover || !valid);
      return leftover;
    })
    .map(({ name }) => name);
const invalid = async (): Promise<number | undefined> =>
  (await store.metrics()).find(({ name }) => name === "headrace_invalid_indexes")?.value;

/** Each holds a rebuild up at another place: before it builds, before the new index counts, before the old one goes. */
const obstacles: Readonly<Record<string, readonly string[]>> = {
  "a writer": ["begin", "lock table :SCHEMA.job in row exclusive mode"],
  "an old snapshot": ["begin isolation level repeatable read", "select from pg_class limit 1"],
  "a reader": ["begin", "lock table :SCHEMA.job in access share mode"],
};

async function behind(obstacle: string, work: () => Promise<void>): Promise<void> {
  const holder = await database.connect();
  for (const statement of obstacles[obstacle]!) await holder.query(database.sql(statement));
  try {
    await work();
  } finally {
    await holder.query("rollback");
    await holder.end();
  }
}

const cancel = (client: pg.ClientBase): Promise<unknown> =>
  query("select pg_cancel_backend($1)", [backendPid(client)]);

reindex(
  "three rebuilds that were cancelled half-way are shown, and the next one removes them (R-85)",
  async () => {
    await store.enqueue([1, 2, 3].map((n) => ({ kind: "task", payload: n })));
    for (const obstacle of Object.keys(obstacles)) {
      await behind(obstacle, async () => {
        const builder = await database.connect();
        const building = refusal(builder.query(database.sql(`reindex index concurrently :SCHEMA.${index}`)));
        await blocked(database.pool, builder, 60_000);
        await cancel(builder);
        assert.is((await building).code, "57014", obstacle);
        await builder.end();
      });
    }
    const found = await leftovers();
    assert.is(found.length, 3, found.join());
    assert.ok(found.every((name) => /^job_line_cc(new|old)\d*$/.test(name)));
    assert.ok(found.some((name) => name.includes("_ccnew")) && found.some((name) => name.includes("_ccold")));
    assert.is(await invalid(), 3);
    // The index itself serves all the time.
    const health = (await store.indexHealth()).find(({ name }) => name === index);
    assert.equal([health?.valid, health?.leftover], [true, false]);

    let stop = false;
    let done = 0;
    const traffic = (async () => {
      while (!stop) {
        await store.enqueue([{ kind: "task", payload: {} }]);
        for (const claim of await store.admit({ worker: "w", queues: ["default"], capacity: 4 })) {
          await store.ack(claim, "success");
          done++;
        }
      }
    })();
    try {
      await eventually("jobs run", () => done > 0);
      await store.reindexConcurrently(index);
    } finally {
      stop = true;
      await traffic;
    }
    assert.equal(await leftovers(), []);
    assert.is(await invalid(), 0);
    assert.ok((await store.indexHealth()).every(({ valid }) => valid));
  },
);

reindex(
  "reindexConcurrently that is cancelled again and again leaves one at most, and then none (R-85)",
  async () => {
    for (let round = 0; round < 3; round++) {
      await behind("a writer", async () => {
        const building = storeError(store.reindexConcurrently(index));
        let pid: unknown;
        // From the second round on it is the removal of what is left that waits.
        await eventually("it waits", async () => {
          const [row] = await query(
            "select pid from pg_stat_activity where datname = current_database() and query ~ '^(reindex|drop) index' " +
              "and wait_event_type = 'Lock'",
          );
          return (pid = row?.["pid"]) !== undefined;
        });
        await query("select pg_cancel_backend($1)", [pid]);
        assert.is((await building).sqlstate, "57014");
      });
      assert.is((await leftovers()).length, 1);
    }
    await store.reindexConcurrently(index);
    assert.equal(await leftovers(), []);
    assert.is(await invalid(), 0);
  },
);

reindex.run();
