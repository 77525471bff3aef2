import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "../support/concurrently.js";
import { privateServer } from "../support/database.js";
import { ack, admit, enqueue, enqueueAll, moveClock, type Claim } from "../support/jobs.js";
import { refusal } from "../support/refusal.js";

const lanes = suite("remembered positions");
// A server of its own: a transaction that stays open in any database of a server holds the positions where they are.
const server = await privateServer();
const { database } = server;
const { query } = database;
const sql = (text: string): string => database.sql(text);

/** Long enough that moving the clock takes no lease away. */
const leaseMs = 10_000_000_000;

async function put(client: pg.ClientBase, job: Record<string, unknown>): Promise<string> {
  const { rows } = await client.query<{ id: string }>(sql("select id from :SCHEMA.enqueue_many($1)"), [
    JSON.stringify([{ kind: "task", ...job }]),
  ]);
  return rows[0]?.id ?? "?";
}

/** Claims and finishes one fresh job, so that the line's positions move. */
async function step(queue: string): Promise<void> {
  await moveClock(database, 1500);
  await enqueue(database, { queue });
  for (const claim of await admit(database, { queue, leaseMs })) await ack(database, claim, "success");
}

async function steps(queue: string, count = 5): Promise<void> {
  for (let n = 0; n < count; n++) await step(queue);
}

const retire = (client: pg.ClientBase | pg.Pool = database.pool): Promise<unknown> =>
  client.query(sql("select :SCHEMA.retire_lanes(1000)"));

async function quarterOfAnHour(): Promise<void> {
  await moveClock(database, 900_000);
}

const idsOf = async (queue: string): Promise<string[]> =>
  (await admit(database, { queue, capacity: 1000, leaseMs })).map(({ id }) => id).sort();

const lineOf = (queue: string): Promise<{ from_ms: string; tip_ms: string; dying: boolean }[]> =>
  query("select from_ms, tip_ms, dying from :SCHEMA.lane where queue = $1 order by no", [queue]);

lanes("a position moves when what is before it is gone", async () => {
  await steps("moves", 6);
  const [line] = await lineOf("moves");
  assert.ok(Number(line?.from_ms) > 0, "the position has moved");
  assert.is((await lineOf("moves")).length, 1);
});

lanes("a job of a producer that stayed open is not passed over", async () => {
  const queue = "open";
  await steps(queue, 2);
  const producer = await database.connect();
  await producer.query("begin");
  const id = await put(producer, { queue });
  await steps(queue, 6);
  await producer.query("commit");
  assert.equal(await idsOf(queue), [id]);
});

lanes("nor is one that opened in the middle of the moves, nor one in a savepoint", async () => {
  for (let before = 0; before < 5; before++) {
    const queue = `middle-${before}`;
    await steps(queue, before);
    const early = await database.connect();
    await early.query("begin");
    await early.query("select pg_current_xact_id()");
    await step(queue);
    const late = await database.connect();
    await late.query("begin; savepoint s");
    const ids = [await put(late, { queue })];
    await late.query("release s");
    await step(queue);
    ids.push(await put(early, { queue }));
    await steps(queue, 3);
    await late.query("commit");
    await steps(queue, 3);
    await early.query("commit");
    const left = await idsOf(queue);
    const rest = await query<{ id: string }>(
      "select id from :SCHEMA.list_jobs($1) where state <> 'running'",
      [JSON.stringify({ queue })],
    );
    assert.equal(rest, [], `${left.length} of ${ids.length} were found after ${before} steps`);
  }
});

lanes("a job with an early start, and one that is handed back, are found before the position", async () => {
  const queue = "early";
  await enqueue(database, { queue });
  const [held] = await admit(database, { queue, leaseMs });
  await steps(queue, 6);
  assert.ok(held);
  await ack(database, held, "rate_limited");
  const id = await enqueue(database, { queue, scheduled_at_ms: 7 });
  assert.equal(await idsOf(queue), [held.id, id].sort());
  await steps(queue, 6);
  assert.equal(await query("select from :SCHEMA.lane_return where queue = $1", [queue]), []);
});

lanes("a claim that is rolled back leaves its jobs in line", async () => {
  const queue = "rollback";
  await steps(queue, 6);
  const ids = await enqueueAll(
    database,
    Array.from({ length: 5 }, () => ({ queue })),
  );
  const claimer = await database.connect();
  await moveClock(database, 1500);
  await claimer.query("begin");
  const { rowCount } = await claimer.query(
    sql("select from :SCHEMA.admit('w', array[$1], 5, 1000)").replace("$1", `'${queue}'`),
  );
  assert.is(rowCount, 5);
  await steps(queue, 6);
  await claimer.query("rollback");
  assert.equal(await idsOf(queue), ids.sort());
});

lanes("two claims in one transaction move a position once", async () => {
  const queue = "twice";
  await steps(queue, 4);
  const claimer = await database.connect();
  await claimer.query("begin");
  for (let n = 0; n < 3; n++) {
    await enqueue(database, { queue });
    await moveClock(database, 1500);
    await claimer.query(sql(`select from :SCHEMA.admit('w', array['${queue}'], 16, ${leaseMs})`));
  }
  const producer = await database.connect();
  await producer.query("begin");
  const id = await put(producer, { queue });
  await enqueue(database, { queue });
  await moveClock(database, 1500);
  await claimer.query(sql(`select from :SCHEMA.admit('w', array['${queue}'], 16, ${leaseMs})`));
  await claimer.query("commit");
  await steps(queue, 4);
  await producer.query("commit");
  assert.equal(await idsOf(queue), [id]);
});

lanes("a producer that began while a position moved is waited for, even on a quiet server", async () => {
  // No transaction younger than the producer's ends before the stamp is taken, so a snapshot's xmax does not pass it.
  const queue = "quiet";
  const places = [1000, 2000, 4000, 5000, 6000, 7000, 8000];
  await enqueueAll(
    database,
    places.map((place) => ({ queue, scheduled_at_ms: place })),
  );
  const claimOne = async (client: pg.ClientBase): Promise<void> => {
    await client.query(sql("update :SCHEMA.test_clock set offset_ms = offset_ms + 1500"));
    await client.query(sql(`select from :SCHEMA.admit('w', array['${queue}'], 1, ${leaseMs})`));
  };
  const [first, second, producer] = [
    await database.connect(),
    await database.connect(),
    await database.connect(),
  ];
  await claimOne(first);
  await claimOne(first);
  await first.query("begin");
  await claimOne(first);
  await producer.query("begin");
  const id = await put(producer, { queue, scheduled_at_ms: 3000 });
  await first.query("commit");
  for (let n = 0; n < 3; n++) {
    await second.query("begin");
    await claimOne(second);
    await second.query("commit");
  }
  await producer.query("commit");
  assert.ok((await idsOf(queue)).includes(id), JSON.stringify(await lineOf(queue)));
});

lanes("a fresh stamp is beyond every transaction that has begun to write", async () => {
  const open: pg.Client[] = [];
  for (let n = 0; n < 3; n++) {
    const client = await database.connect();
    open.push(client);
    await client.query("begin");
    await client.query("select pg_current_xact_id()");
  }
  const [youngest] =
    (await open[2]?.query<{ xid: string }>("select pg_current_xact_id() as xid"))?.rows ?? [];
  const oldest = open[0];
  assert.ok(oldest && youngest);
  const { rows } = await oldest.query<{ stamp: string }>(sql("select :SCHEMA.fresh_stamp() as stamp"));
  assert.ok(BigInt(rows[0]?.stamp ?? 0) > BigInt(youngest.xid), `${rows[0]?.stamp} > ${youngest.xid}`);
  for (const client of open) await client.query("rollback");
});

lanes("a claim in a snapshot that stands still is refused, and moves nothing", async () => {
  const queue = "repeatable";
  await steps(queue, 2);
  const before = await lineOf(queue);
  const claimer = await database.connect();
  await enqueue(database, { queue });
  await moveClock(database, 1500);
  const claim = sql(`select from :SCHEMA.admit('w', array['${queue}'], 1, ${leaseMs})`);
  for (const level of ["repeatable read", "serializable"]) {
    await claimer.query(`begin isolation level ${level}`);
    const refused = await refusal(claimer.query(claim));
    await claimer.query("rollback");
    assert.equal([refused.code, refused.fields["field"]], ["HR007", "transaction_isolation"]);
  }
  assert.equal(await lineOf(queue), before);
  assert.is((await claimer.query(claim)).rowCount, 1);
});

lanes("an empty line goes, and comes back with the next job", async () => {
  const queue = "goes";
  await steps(queue, 3);
  for (let n = 0; n < 4; n++) {
    await quarterOfAnHour();
    await retire();
  }
  assert.equal(await lineOf(queue), []);
  const id = await enqueue(database, { queue });
  assert.equal(await idsOf(queue), [id]);
});

lanes("a line whose returns were never taken up goes, too", async () => {
  const queue = "leftover";
  await steps(queue, 4);
  await moveClock(database, 1500);
  await enqueue(database, { queue });
  const [claim] = await admit(database, { queue, leaseMs });
  assert.ok(claim);
  await ack(database, claim, "rate_limited");
  const [again] = await admit(database, { queue, leaseMs });
  assert.ok(again);
  await ack(database, again, "success");
  assert.is((await query("select from :SCHEMA.lane_return where queue = $1", [queue])).length, 1);
  for (let n = 0; n < 4; n++) {
    await quarterOfAnHour();
    await retire();
  }
  assert.equal(await lineOf(queue), []);
  assert.equal(await query("select from :SCHEMA.lane_return where queue = $1", [queue]), []);
});

lanes("a line stays while a producer that relied on it is open", async () => {
  for (let visits = 0; visits < 4; visits++) {
    const queue = `relied-${visits}`;
    await steps(queue, 3);
    for (let n = 0; n < visits; n++) {
      await quarterOfAnHour();
      await retire();
    }
    const producer = await database.connect();
    await producer.query("begin");
    const id = await put(producer, { queue });
    for (let n = 0; n < 5; n++) {
      await quarterOfAnHour();
      await retire();
    }
    await producer.query("commit");
    assert.equal(await idsOf(queue), [id], `after ${visits} visits`);
  }
});

lanes("marking and stamping a line in one transaction removes it from under nobody", async () => {
  const queue = "one-transaction";
  await steps(queue, 3);
  const sweeper = await database.connect();
  await sweeper.query("begin");
  for (let n = 0; n < 3; n++) {
    await quarterOfAnHour();
    await retire(sweeper);
  }
  const producer = await database.connect();
  await producer.query("begin");
  const id = await put(producer, { queue });
  await sweeper.query("commit");
  for (let n = 0; n < 4; n++) {
    await quarterOfAnHour();
    await retire();
  }
  await producer.query("commit");
  assert.equal(await idsOf(queue), [id]);
});

for (const partitions of [3, 40]) {
  lanes(
    `random producers, claimers and sweeps over ${partitions} partitions: every job ends once, and none is stranded`,
    async () => {
      const queue = `random-${partitions}`;
      const until = Date.now() + 10_000;
      const committed = new Set<string>();
      const finished: string[] = [];
      const counts = { produced: 0, claimed: 0, rolledBack: 0, returned: 0 };

      const pause = (): Promise<void> =>
        sleep(Math.random() < 0.1 ? Math.random() * 400 : Math.random() * 15);
      const chance = (share: number): boolean => Math.random() < share;

      const produce = async (client: pg.Client): Promise<void> => {
        await client.query("begin");
        const ids: string[] = [];
        for (let n = chance(0.7) ? 1 : 3; n > 0; n--) {
          const { rows } = await client.query<{ now: string }>(sql("select :SCHEMA.now_ms() as now"));
          const shift = Math.round((Math.random() - 0.6) * 20_000);
          const job = {
            queue,
            partition_key: `p${Math.floor(Math.random() * partitions)}`,
            priority: Math.floor(Math.random() * 2),
            ...(chance(0.3) ? { sticky_worker: `w${Math.floor(Math.random() * 3)}` } : {}),
            ...(chance(0.5) ? { scheduled_at_ms: Number(rows[0]?.now) + shift } : {}),
            ...(chance(0.2) ? { unique_key: `${Math.random()}` } : {}),
          };
          ids.push(await put(client, job));
          await pause();
        }
        if (chance(0.2)) return void (await client.query("rollback"));
        await client.query("commit");
        counts.produced += ids.length;
        for (const id of ids) committed.add(id);
      };

      const settle = async (client: pg.ClientBase, claim: Claim): Promise<void> => {
        const outcome = chance(0.6)
          ? "success"
          : chance(0.5)
            ? "rate_limited"
            : chance(0.5)
              ? "snooze"
              : "retry";
        const inside = chance(0.3);
        if (inside) await client.query("begin");
        await client.query(sql("select :SCHEMA.ack($1, $2, $3, $4, null, $5)"), [
          claim.id,
          claim.lease_id,
          claim.fence,
          outcome,
          outcome === "snooze" ? 5 : outcome === "retry" ? 0 : null,
        ]);
        if (inside) await pause();
        if (inside && chance(0.2)) {
          await client.query("rollback");
          return settle(client, claim);
        }
        if (inside) await client.query("commit");
        if (outcome === "success") finished.push(claim.id);
        else counts.returned++;
      };

      const claim = async (client: pg.Client, worker: string): Promise<void> => {
        await client.query("begin");
        const claims: Claim[] = [];
        for (let n = chance(0.8) ? 1 : 2; n > 0; n--) {
          const { rows } = await client.query<Claim>(
            sql("select id, lease_id, fence from :SCHEMA.admit($1, array[$2], $3, $4, $5)"),
            [worker, queue, 1 + Math.floor(Math.random() * 6), leaseMs, chance(0.3) ? 1 : null],
          );
          claims.push(...rows);
          if (chance(0.3)) await pause();
        }
        if (chance(0.15)) {
          counts.rolledBack += claims.length;
          return void (await client.query("rollback"));
        }
        await client.query("commit");
        counts.claimed += claims.length;
        for (const one of claims) await settle(client, one);
      };

      await concurrently(database, 8, async (client, index) => {
        await client.query("set statement_timeout = '60s'");
        while (Date.now() < until) {
          if (index < 3) await produce(client);
          else if (index < 6) await claim(client, `w${index - 3}`);
          else if (index === 6) {
            await client.query(
              sql(
                "insert into :SCHEMA.test_clock as c (offset_ms) values (1) " +
                  "on conflict (only_row) do update set offset_ms = c.offset_ms + $1",
              ),
              [chance(0.05) ? 660_000 : 400],
            );
            await sleep(10);
          } else {
            await client.query(
              sql(chance(0.5) ? "select :SCHEMA.janitor()" : "select :SCHEMA.promote_due()"),
            );
            await sleep(30);
          }
        }
      });

      // The rest is drained by three workers who find everything that is left.
      for (let empty = 0; empty < 2;) {
        await moveClock(database, 30_000);
        await query("select :SCHEMA.promote_due(100000)");
        let found = 0;
        for (const worker of ["w0", "w1", "w2"]) {
          for (const one of await admit(database, { worker, queue, capacity: 500, leaseMs })) {
            await ack(database, one, "success");
            finished.push(one.id);
            found++;
          }
        }
        empty = found === 0 ? empty + 1 : 0;
      }
      const left = await query("select id, state, priority, partition_key from :SCHEMA.list_jobs($1)", [
        JSON.stringify({ queue }),
      ]);
      assert.equal(left, [], `stranded; ${JSON.stringify(counts)}`);
      assert.is(finished.length, new Set(finished).size, "a job ended twice");
      assert.equal(
        [...committed].filter((id) => !finished.includes(id)),
        [],
      );
      assert.is(finished.length, committed.size, JSON.stringify(counts));
      assert.ok(counts.claimed > 100 && counts.rolledBack > 5, JSON.stringify(counts));
    },
  );
}

lanes.after(() => server.close());
lanes.run();
