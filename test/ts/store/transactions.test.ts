import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, type Claim, type Tx } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { backendPid } from "../support/locks.js";
import { storeError } from "../support/store-error.js";

const transactions = suite("store transactions");
const database = await testDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 2 });
const store = new PgStore(pool, { schema: database.schema, callTimeoutMs: 5_000 });

transactions.before(async () => {
  await database.pool.query("create table ledger (entry text primary key)");
});
transactions.after(async () => {
  await pool.end();
  await database.close();
});

async function claimOne(queue: string): Promise<Claim> {
  await store.enqueue([{ kind: "task", queue, retentionMs: 60_000 }]);
  const [claim] = await store.admit({ worker: "w", queues: [queue], capacity: 1, leaseMs: 60_000 });
  assert.ok(claim);
  return claim;
}

const entries = async (): Promise<string[]> =>
  (await database.pool.query<{ entry: string }>("select entry from ledger order by entry")).rows.map(
    (row) => row.entry,
  );

/** Two queries at once, each on a connection that is in no transaction and has nothing of another's. */
async function sound(): Promise<void> {
  const look = (): Promise<pg.QueryResult<{ began: boolean; leftover: string | null }>> =>
    pool.query(
      "select now() <> statement_timestamp() as began, current_setting('test.leftover', true) as leftover, pg_sleep(0.01)",
    );
  for (const { rows } of await Promise.all([look(), look()])) {
    assert.is(rows[0]?.began, false);
    assert.ok(!rows[0]?.leftover, "a setting of another transaction is left");
  }
  assert.ok(pool.totalCount <= 2);
  assert.is(pool.waitingCount, 0);
}

async function nobodyIdlesInTransaction(): Promise<void> {
  await eventually("no backend is idle in transaction", async () => {
    const { rowCount } = await database.pool.query(
      "select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%' " +
        "and state_change < now() - interval '100 ms'",
    );
    return rowCount === 0;
  });
}

transactions("what a transaction wrote is there after commit, and gone after rollback", async () => {
  for (const end of ["commit", "rollback"] as const) {
    const tx = await store.begin();
    await tx.client.query("insert into ledger values ($1)", [end]);
    const [job] = await store.enqueueTx(tx, [{ kind: "task", queue: end }]);
    assert.is(await store.getJob(job?.id ?? ""), null, "seen before the commit");
    await tx[end]();
    assert.is(tx.finished, true);
    assert.is((await store.getJob(job?.id ?? "")) !== null, end === "commit");
  }
  assert.equal(await entries(), ["commit"]);
  await sound();
});

transactions("beginTx, commitTx, rollbackTx do the same", async () => {
  const first = await store.beginTx();
  await first.client.query("insert into ledger values ('beginTx')");
  await store.commitTx(first);
  const second = await store.beginTx();
  await second.client.query("insert into ledger values ('rollbackTx')");
  await store.rollbackTx(second);
  assert.equal(await entries(), ["beginTx", "commit"]);
});

transactions("a finished handle, or one that is none, is invalid", async () => {
  const tx = await store.begin();
  await tx.commit();
  assert.is((await storeError(tx.commit())).code, "invalid");
  assert.is((await storeError(tx.rollback())).code, "invalid");
  assert.is((await storeError(store.commitTx(tx))).code, "invalid");
  assert.is((await storeError(store.enqueueTx(tx, [{ kind: "task" }]))).code, "invalid");
  assert.is((await storeError(store.commitTx({} as never))).fields["field"], "tx");
  assert.is((await storeError(store.rollbackTx(null as never))).fields["field"], "tx");
});

transactions("a duplicate does not abort the caller's transaction", async () => {
  await store.enqueue([{ kind: "task", queue: "unique", uniqueKey: "k", id: "holder" }]);
  const refused = async (tx: Tx): Promise<void> => {
    const error = await storeError(store.enqueueTx(tx, [{ kind: "task", queue: "unique", uniqueKey: "k" }]));
    assert.is(error.code, "duplicate");
    assert.is(error.sqlstate, "HR001");
    assert.is(error.fields.existing_id, "holder");
    assert.is(error.fields.replaced, false);
  };
  const tx = await store.begin();
  await tx.client.query("insert into ledger values ('duplicate')");
  await refused(tx);
  const [sibling] = await store.enqueueTx(tx, [{ kind: "task", queue: "unique" }]);
  await tx.commit();
  assert.ok((await entries()).includes("duplicate"));
  assert.is((await store.getJob(sibling?.id ?? ""))?.state, "available");

  // A client of the caller's own, and one of a pool.
  const own = await database.connect();
  await own.query("begin");
  await refused(own);
  await own.query("insert into ledger values ('own client')");
  await own.query("commit");
  const lent = await database.pool.connect();
  await lent.query("begin");
  await store.enqueueOn(lent, [{ kind: "task", id: "of a lent client" }]);
  assert.is((await storeError(store.enqueueOn(lent, [{ kind: "other", id: "holder" }]))).code, "id_conflict");
  await lent.query("commit");
  lent.release();
  assert.ok((await entries()).includes("own client"));
  assert.ok(await store.getJob("of a lent client"));
});

transactions("an effect is claimed once, and only by who commits", async () => {
  const claim = async (end: "commit" | "rollback"): Promise<boolean> => {
    const tx = await store.begin();
    const first = await store.claimEffect(tx, "charge/42");
    await tx[end]();
    return first;
  };
  assert.is(await claim("rollback"), true);
  assert.is(await claim("commit"), true);
  assert.is(await claim("commit"), false);
  assert.is(await store.claimEffect(database.pool, "of a pool"), true);
  const tx = await store.begin();
  assert.is((await storeError(store.claimEffect(tx, ""))).code, "invalid");
  await tx.rollback();
});

transactions("a second claimer waits for the first and answers by its fate", async () => {
  for (const end of ["commit", "rollback"] as const) {
    const [first, second] = [await store.begin(), await store.begin()];
    assert.is(await store.claimEffect(first, `race/${end}`), true);
    const waiting = store.claimEffect(second, `race/${end}`);
    await sleep(50);
    await first[end]();
    assert.is(await waiting, end === "rollback");
    await second.commit();
  }
});

transactions(
  "completing in a transaction is undone with it, and a superseded holder must roll back",
  async () => {
    const claim = await claimOne("complete");
    const undone = await store.begin();
    await store.checkpointTx(undone, claim, { completed: ["a"], cursor: Buffer.from([0, 255]) });
    await store.completeTx(undone, claim);
    await undone.rollback();
    assert.is((await store.getJob(claim.id))?.state, "running");

    const tx = await store.begin();
    await tx.client.query("insert into ledger values ('done')");
    await store.completeTxWithActualWeight(tx, claim, 1);
    await tx.commit();
    assert.is((await store.getJob(claim.id))?.state, "completed");

    const stale = await store.begin();
    await stale.client.query("insert into ledger values ('stale')");
    const error = await storeError(store.completeTx(stale, claim));
    assert.is(error.code, "lease_rejected");
    assert.is(error.fields.job_id, claim.id);
    // Whoever commits all the same is told that nothing was.
    const commit = await storeError(stale.commit());
    assert.is(commit.sqlstate, "25P02");
    assert.ok((await entries()).includes("done"));
    assert.not((await entries()).includes("stale"));
    await sound();
  },
);

transactions("transaction() commits what returns and rolls back what throws", async () => {
  assert.is(await store.transaction(async (tx) => (await tx.client.query("select 1 as one")).rows[0].one), 1);
  const boom = new Error("boom");
  try {
    await store.transaction(async (tx) => {
      await tx.client.query("insert into ledger values ('boom')");
      throw boom;
    });
    assert.unreachable();
  } catch (error) {
    assert.is(error, boom);
  }
  assert.not((await entries()).includes("boom"));
  await sound();
});

transactions("a handle that goes out of scope with await using is rolled back", async () => {
  {
    await using tx = await store.begin();
    await tx.client.query("insert into ledger values ('using')");
  }
  assert.not((await entries()).includes("using"));
  await sound();
});

const rounds = Array.from({ length: 10 }, (_, round) => round);

transactions("begin while its backend is killed, ten times (R-40)", async () => {
  for (const _ of rounds) {
    const tx = await store.begin();
    await tx.client.query("set local test.leftover = 'yes'");
    await database.pool.query("select pg_terminate_backend($1)", [backendPid(tx.client)]);
    assert.is((await storeError(store.enqueueTx(tx, [{ kind: "task" }]))).code, "unavailable");
    assert.is((await storeError(tx.commit())).code, "unavailable");
    await sound();
  }
  for (const _ of rounds) {
    const tx = await store.begin();
    await database.pool.query("select pg_terminate_backend($1)", [backendPid(tx.client)]);
    await tx.rollback();
    await sound();
  }
});

transactions("handles that are dropped are closed when they are forgotten (R-40)", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (const _ of rounds) {
    await (async () => {
      const tx = await store.begin();
      await tx.client.query("select set_config('test.leftover', 'yes', true)");
    })();
    await eventually("the connection is free again", async () => {
      collect();
      await sleep(1);
      return pool.totalCount === pool.idleCount;
    });
    await sound();
  }
  await nobodyIdlesInTransaction();
});

transactions("a callback that throws after an SQL error, ten times (R-40)", async () => {
  for (const round of rounds) {
    try {
      await store.transaction(async (tx) => {
        await tx.client.query("set local test.leftover = 'yes'");
        await tx.client.query("select 1/0").catch(() => undefined);
        throw new Error(`round ${round}`);
      });
      assert.unreachable();
    } catch (error) {
      assert.is((error as Error).message, `round ${round}`);
    }
    await sound();
  }
  // One that swallows it learns at the commit.
  const swallowed = store.transaction(async (tx) => {
    await tx.client.query("select 1/0").catch(() => undefined);
  });
  assert.is((await storeError(swallowed)).sqlstate, "25P02");
  await sound();
});

transactions("a transaction that the callback ended by hand leaves nothing open", async () => {
  for (const _ of rounds) {
    const tx = await store.begin();
    await tx.client.query("commit");
    await tx.client.query("begin");
    await tx.client.query("select set_config('test.leftover', 'yes', false)");
    // What the handle does not know of: a savepoint that is not there.
    await tx.rollback();
    const { rows } = await pool.query("select current_setting('test.leftover', true) as leftover");
    assert.ok(!rows[0].leftover);
  }
  await nobodyIdlesInTransaction();
});

transactions("a call that takes too long ends the transaction, ten times (R-40)", async () => {
  const blocker = await database.connect();
  for (const round of rounds) {
    await blocker.query("begin");
    await blocker.query(database.sql("select :SCHEMA.claim_effect($1)"), [`slow/${round}`]);
    const tx = await store.begin();
    const waiting = store.call("claim_effect", { key: `slow/${round}` }, { on: tx, timeoutMs: 50 });
    assert.match((await storeError(waiting)).message, /no answer within 50 ms/);
    assert.is((await storeError(tx.commit())).code, "unavailable");
    await blocker.query("rollback");
    await sound();
  }
  await nobodyIdlesInTransaction();
});

transactions("T transactions need T + 2 connections, and no call takes two", async () => {
  const [one, two] = [await store.begin(), await store.begin()];
  const claim = await (async () => {
    const other = new PgStore(database.pool, { schema: database.schema });
    await other.enqueue([{ kind: "task", queue: "tight" }]);
    return (await other.admit({ worker: "w", queues: ["tight"] }))[0];
  })();
  assert.ok(claim);
  // The pool is at its end, and these go through all the same.
  await store.enqueueTx(one, [{ kind: "task", queue: "tight" }]);
  await store.checkpointTx(two, claim, { completed: [] });
  await store.completeTx(two, claim);
  const third = storeError(store.call("counts", {}, { timeoutMs: 100 }));
  assert.match((await third).message, /no connection within 100 ms/);
  await Promise.all([one.commit(), two.commit()]);
  await sound();
});

transactions("instants are those of the call, not of the transaction", async () => {
  const tx = await store.begin();
  await tx.client.query("select pg_sleep(1.1)");
  const [{ now }] = (await tx.client.query("select extract(epoch from clock_timestamp()) * 1000 as now"))
    .rows as [{ now: string }];
  const [job] = await store.enqueueTx(tx, [{ kind: "task", queue: "later", delayMs: 10_000 }]);
  await tx.commit();
  const due = (await store.getJob(job?.id ?? ""))?.scheduledAtMs ?? 0;
  assert.ok(due >= Math.floor(Number(now)) + 10_000, `${due} is too early`);
});

transactions.run();
