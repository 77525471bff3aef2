import { drizzle } from "drizzle-orm/node-postgres";
import { sql as drizzleSql } from "drizzle-orm";
import { Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import type { Claim, Queryable } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { storeError } from "../support/store-error.js";

/** The store inside transactions of query builders that sit on node-postgres: their commit is its commit. */
const orms = suite("transactions of query builders");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
await database.query("create table public.invoice (n integer primary key, by text not null)");

/** One transaction of an ORM: what it writes itself, and the connection that it does so on. */
type Run = <T>(
  work: (tx: { connection: Queryable; insert(n: number, by: string): Promise<unknown> }) => Promise<T>,
) => Promise<T>;

const withDrizzle: Run = async (work) => {
  const client = await database.pool.connect();
  try {
    // Drizzle on one client: its transaction is this connection's.
    return await drizzle(client).transaction(async (tx) =>
      work({
        connection: client,
        insert: (n, by) => tx.execute(drizzleSql`insert into public.invoice (n, by) values (${n}, ${by})`),
      }),
    );
  } finally {
    client.release();
  }
};

const kysely = new Kysely<{ invoice: { n: number; by: string } }>({
  dialect: new PostgresDialect({
    pool: { connect: async () => tracked(await database.pool.connect()), end: async () => undefined },
  }),
});
let lent: Queryable | undefined;
function tracked<T extends object>(client: T): T {
  lent = client as unknown as Queryable;
  return client;
}
const withKysely: Run = async (work) =>
  kysely.transaction().execute(async (tx) => {
    await kyselySql`select 1`.execute(tx);
    // The connection that Kysely took from the pool for this transaction.
    const connection = lent;
    if (!connection) throw new Error("no connection");
    return work({
      connection,
      insert: (n, by) => tx.insertInto("invoice").values({ n, by }).execute(),
    });
  });

const invoices = async (): Promise<unknown[]> =>
  (await database.query("select n from public.invoice order by n")).map(({ n }) => n);
const claimed = async (queue: string, worker = "w", leaseMs = 60_000): Promise<Claim> => {
  const [claim] = await store.admit({ worker, queues: [queue], capacity: 1, leaseMs });
  if (!claim) throw new Error("nothing was admitted");
  return claim;
};

for (const [name, run] of [
  ["drizzle", withDrizzle],
  ["kysely", withKysely],
] as const) {
  const first = name === "drizzle" ? 100 : 200;

  orms(`${name}: a job is enqueued with the business row, or neither is`, async () => {
    const queue = `${name}-enqueue`;
    await run(async ({ connection, insert }) => {
      await insert(first, name);
      await store.enqueueOn(connection, [{ kind: "task", queue, id: `${name}-1` }]);
    });
    assert.ok((await invoices()).includes(first));
    assert.is((await store.getJob(`${name}-1`))?.state, "available");
    await run(async ({ connection, insert }) => {
      await insert(first + 1, name);
      await store.enqueueOn(connection, [{ kind: "task", queue, id: `${name}-2` }]);
      throw new Error("changed our mind");
    }).then(
      () => assert.unreachable(),
      (error: Error) => assert.is(error.message, "changed our mind"),
    );
    assert.not((await invoices()).includes(first + 1));
    assert.is(await store.getJob(`${name}-2`), null);
  });

  orms(`${name}: a duplicate does not spoil the transaction`, async () => {
    const queue = `${name}-duplicate`;
    await store.enqueue([{ kind: "task", queue, uniqueKey: `${name}-key` }]);
    await run(async ({ connection, insert }) => {
      const error = await storeError(
        store.enqueueOn(connection, [{ kind: "task", queue, uniqueKey: `${name}-key` }]),
      );
      assert.is(error.code, "duplicate");
      await insert(first + 2, name);
    });
    assert.ok((await invoices()).includes(first + 2));
  });

  orms(`${name}: an effect happens once, and completes its job with it`, async () => {
    const queue = `${name}-once`;
    await store.enqueue([{ kind: "task", queue, retentionMs: 60_000 }]);
    const claim = await claimed(queue);
    const once = async (lease: Claim): Promise<boolean> =>
      run(async ({ connection, insert }) => {
        const mine = await store.claimEffect(connection, `${name}-effect`);
        if (mine) await insert(first + 3, name);
        await store.completeTx(connection, lease);
        return mine;
      });
    assert.is(await once(claim), true);
    assert.is((await store.getJob(claim.id))?.state, "completed");
    await store.enqueue([{ kind: "task", queue }]);
    assert.is(await once(await claimed(queue)), false);
    assert.is((await invoices()).filter((n) => n === first + 3).length, 1);
  });

  orms(`${name}: a stolen lease rolls the business write back`, async () => {
    const queue = `${name}-stolen`;
    const [job] = await store.enqueue([{ kind: "task", queue, retentionMs: 60_000 }]);
    const stale = await claimed(queue, "w1", 1);
    await database.query("select pg_sleep(0.01)");
    let seen: string | undefined;
    // Whether it throws is the builder's business: the server has aborted the transaction.
    await run(async ({ connection, insert }) => {
      assert.is(await store.claimEffect(connection, `${name}-stolen`), true);
      await insert(first + 4, "w1");
      // Meanwhile the job is reclaimed and claimed anew.
      assert.is((await store.reclaimExpired()).length, 1);
      await store.rescheduleJob(job?.id ?? "", 1);
      const fresh = await claimed(queue, "w2");
      assert.is(fresh.id, stale.id);
      seen = (await storeError(store.checkpointTx(connection, stale, { completed: [] }))).code;
    }).catch(() => undefined);
    assert.is(seen, "lease_rejected");
    const rejected = await storeError(
      run(async ({ connection, insert }) => {
        await insert(first + 5, "w1");
        await store.completeTx(connection, stale);
      }),
    );
    assert.is(rejected.code, "lease_rejected");
    assert.is(rejected.fields["job_id"], stale.id);
    assert.not((await invoices()).includes(first + 4));
    assert.not((await invoices()).includes(first + 5));
    assert.is((await store.getJob(stale.id))?.state, "running");

    // The same lease id with a wrong fence is rejected too; the right one completes.
    const [now] = await database.query<{ lease_id: string; fence: string }>(
      "select lease_id, fence from :SCHEMA.get_job($1)",
      [stale.id],
    );
    const right = { jobId: stale.id, leaseId: now?.lease_id ?? "", fence: BigInt(now?.fence ?? 0) };
    const wrong = await storeError(
      run(async ({ connection, insert }) => {
        await insert(first + 6, "w1");
        await store.completeTx(connection, { ...right, fence: right.fence - 1n });
      }),
    );
    assert.is(wrong.code, "lease_rejected");
    assert.not((await invoices()).includes(first + 6));
    await run(async ({ connection, insert }) => {
      await insert(first + 6, "w2");
      await store.completeTx(connection, right);
    });
    assert.ok((await invoices()).includes(first + 6));
    assert.is((await store.getJob(stale.id))?.state, "completed");
  });
}

orms.after(() => database.close());
orms.run();
