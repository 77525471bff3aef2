// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase, type TestDatabase } from "./support/database.js";
import { backendPid, blocked } from "./support/locks.js";

const schedules = suite("schedules");
const second = 1000;
const minute = 60 * second;
const start = Date.UTC(2026, 11, 1, 12, 0, 0);

interface Sandbox extends TestDatabase {
  /** Sets the store's clock, in ms since the epoch. */
  at(instant: number): Promise<void>;
  /** Every job of a tick that was ever inserted, also of those that have gone. */
  fired(): Promise<{ schedule: string; tick: number; times: number }[]>;
}

const databases: TestDatabase[] = [];

async function sandbox(): Promise<Sandbox> {
  const database = await testDatabase({ poolSize: 12 });
  databases.push(database);
  await database.query("create table public.fired (schedule text, tick_ms bigint)");
  await database.query(
    `create function public.note_fired() returns trigger language plpgsql as
     $$ begin insert into public.fired values (new.periodic_schedule_id, new.periodic_tick_ms); return null; end $$`,
  );
  await database.query(
    `create trigger note_fired after insert on :SCHEMA.job for each row
     when (new.periodic_schedule_id is not null) execute function public.note_fired()`,
  );
  const at = async (instant: number): Promise<void> => {
    await database.query(
      `insert into :SCHEMA.test_clock (offset_ms)
       values ($1::bigint - floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
       on conflict (only_row) do update set offset_ms = excluded.offset_ms`,
      [instant],
    );
  };
  const fired = async (): Promise<{ schedule: string; tick: number; times: number }[]> => {
    const rows = await database.query<{ schedule: string; tick: string; times: number }>(
      `select schedule, tick_ms as tick, count(*)::integer as times from public.fired
       group by schedule, tick_ms order by schedule, tick_ms`,
    );
    return rows.map(({ schedule, tick, times }) => ({ schedule, tick: Number(tick), times }));
  };
  await at(start);
  return { ...database, at, fired };
}

function everyTickOnce(
  fired: readonly { schedule: string; tick: number; times: number }[],
  ids: readonly string[],
  first: number,
  last: number,
  every: number,
): void {
  assert.equal(
    fired.filter(({ times }) => times !== 1),
    [],
    "a tick that fired twice",
  );
  const wanted: string[] = [];
  for (const id of [...ids].sort()) {
    for (let tick = first; tick <= last; tick += every) wanted.push(`${id} ${tick}`);
  }
  assert.equal(fired.map(({ schedule, tick }) => `${schedule} ${tick}`).sort(), wanted.sort());
}

const many = Array.from({ length: 20 }, (_, index) => `s${String(index).padStart(2, "0")}`);

schedules(
  "eight connections that tick at once fire each tick once, while jobs finish and vanish",
  async () => {
    const database = await sandbox();
    for (const id of many) {
      await database.query("select :SCHEMA.upsert_schedule($1, '* * * * * *', 'k')", [id]);
    }
    const rounds = 25;
    let ended = false;
    const consume = (async () => {
      const client = await database.connect();
      while (!ended) {
        const { rows } = await client.query(
          database.sql("select * from :SCHEMA.admit('w', array['default'], 100, 30000)"),
        );
        if (rows.length === 0) await sleep(20);
        else {
          await client.query(database.sql("select * from :SCHEMA.ack_many($1)"), [
            JSON.stringify(
              rows.map(({ id, lease_id, fence }) => ({ job_id: id, lease_id, fence, outcome: "success" })),
            ),
          ]);
        }
      }
      await client.end();
    })();
    let now = start;
    for (let round = 0; round < rounds; round++) {
      now += round % 5 === 4 ? 3 * second : second;
      await database.at(now + 1);
      await concurrently(database, 8, async (client) => {
        for (let i = 0; i < 2; i++) await client.query(database.sql("select :SCHEMA.tick_schedules(7)"));
      });
    }
    for (let more = 1; more > 0;) {
      const [row] = await database.query<{ fired: string }>("select :SCHEMA.tick_schedules(100) as fired");
      more = Number(row?.fired);
    }
    ended = true;
    await consume;
    const fired = await database.fired();
    // The clock goes on by itself while the rounds run.
    const last = Math.max(...fired.map(({ tick }) => tick));
    assert.ok(last >= now);
    const upTo = Math.min(
      ...many.map((id) => Math.max(...fired.filter((f) => f.schedule === id).map((f) => f.tick))),
    );
    everyTickOnce(
      fired.filter(({ tick }) => tick <= upTo),
      many,
      start + second,
      upTo,
      second,
    );
  },
);

schedules("a tick that dies between any two statements is fired once by the next", async () => {
  const points = {
    insert: "before insert on :SCHEMA.job",
    "inserted, not recorded": "before insert on :SCHEMA.schedule_event",
    "recorded, not advanced": "before update on :SCHEMA.schedule",
    "advanced, not committed": "after update on :SCHEMA.schedule",
  };
  for (const [point, moment] of Object.entries(points)) {
    const database = await sandbox();
    await database.query("select :SCHEMA.upsert_schedule('a', '* * * * *', 'k')");
    await database.query(
      `create function public.halt() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock_shared(7); return new; end $$`,
    );
    await database.query(`create trigger halt ${moment} for each row execute function public.halt()`);
    await database.at(start + minute + second);
    const holder = await database.connect();
    await holder.query("select pg_advisory_lock(7)");
    const victim = await database.connect();
    const tick = victim.query(database.sql("select :SCHEMA.tick_schedules()")).then(
      () => assert.unreachable(point),
      (error: Error) => error,
    );
    // The tick's own lock_timeout ends its wait; it must be gone before.
    await blocked(database.pool, victim);
    await database.query("select pg_terminate_backend($1)", [backendPid(victim)]);
    await tick;
    await holder.query("select pg_advisory_unlock(7)");
    // The victim's locks go with it, a moment later.
    let fired = 0;
    for (let i = 0; i < 200 && fired === 0; i++) {
      const [row] = await database.query<{ n: string }>("select :SCHEMA.tick_schedules() as n");
      fired = Number(row?.n);
      await sleep(10);
    }
    everyTickOnce(await database.fired(), ["a"], start + minute, start + minute, minute);
    const events = await database.query("select outcome from :SCHEMA.list_schedule_events('a')");
    assert.equal(events, [{ outcome: "enqueued" }], point);
  }
});

schedules("ticking backends that are killed at random lose and double nothing (R-70)", async () => {
  const database = await sandbox();
  for (const id of many) {
    await database.query(
      "select :SCHEMA.upsert_schedule($1, '* * * * * *', 'k', on_missed => 'backfill', backfill_limit => 1000)",
      [id],
    );
  }
  let ended = false;
  const pids = new Map<number, number>();
  let killed = 0;
  const nodes = Array.from({ length: 5 }, async (_, index) => {
    let client: pg.Client | undefined;
    while (!ended) {
      try {
        client ??= await database.connect();
        pids.set(index, backendPid(client));
        await client.query(database.sql("select :SCHEMA.tick_schedules(5)"));
      } catch {
        pids.delete(index);
        killed++;
        await client?.end().catch(() => undefined);
        client = undefined;
      }
    }
    await client?.end().catch(() => undefined);
  });
  for (let round = 0; round < 60; round++) {
    await database.at(start + (round + 1) * second);
    await sleep(40 + (round % 7) * 10);
    const victim = pids.get(round % 5);
    if (victim !== undefined) await database.query("select pg_terminate_backend($1)", [victim]);
  }
  ended = true;
  await Promise.all(nodes);
  assert.ok(killed > 10, `only ${killed} were killed`);
  for (let i = 0; i < 3; i++) await database.query("select :SCHEMA.tick_schedules(100)");
  const fired = await database.fired();
  const upTo = Math.min(
    ...many.map((id) => Math.max(...fired.filter((f) => f.schedule === id).map((f) => f.tick))),
  );
  assert.ok(upTo >= start + 60 * second);
  everyTickOnce(
    fired.filter(({ tick }) => tick <= upTo),
    many,
    start + second,
    upTo,
    second,
  );
});

schedules("twenty deployments at the moment of the tick make one job (R-71)", async () => {
  const database = await sandbox();
  const seven = Date.UTC(2026, 11, 2, 7);
  const deploy = async (client: pg.Client): Promise<void> => {
    await client.query(database.sql("select :SCHEMA.upsert_schedule('daily', '0 7 * * *', 'k')"));
  };
  await database.at(seven - minute);
  await concurrently(database, 20, deploy);
  await database.at(seven - 100);
  await concurrently(database, 20, async (client, index) => {
    for (let i = 0; i < 10; i++) {
      await deploy(client);
      if (index % 4 === 0) await client.query(database.sql("select :SCHEMA.tick_schedules()"));
      await sleep(10);
    }
  });
  await database.at(seven + second);
  await database.query("select :SCHEMA.tick_schedules()");
  everyTickOnce(await database.fired(), ["daily"], seven, seven, minute);
});

schedules("a producer that sits on a full queue's lock holds up only that queue's schedules", async () => {
  const database = await sandbox();
  await database.query("select :SCHEMA.set_enqueue_limit('slow', 100)");
  for (const [id, queue] of [
    ["a1", "slow"],
    ["a2", "slow"],
    ["b", "other"],
    ["z", "zebra"],
  ]) {
    await database.query("select :SCHEMA.upsert_schedule($1, '* * * * *', 'k', queue => $2)", [id, queue]);
  }
  const producer = await database.connect();
  await producer.query("begin");
  await producer.query(database.sql("select :SCHEMA.enqueue('k', queue => 'slow')"));
  await database.at(start + minute + second);
  await database.query("select :SCHEMA.tick_schedules()");
  assert.equal(
    (await database.fired()).map(({ schedule }) => schedule),
    ["b", "z"],
  );
  const troubled = await database.query<{ id: string; last_error: string }>(
    "select id, last_error from :SCHEMA.schedules where last_error is not null order by id",
  );
  assert.equal(
    troubled.map(({ id }) => id),
    ["a1"],
  );
  assert.match(troubled[0]!.last_error, /^store_error: 55P03/);
  await producer.query("commit");
  await database.at(start + minute + 10 * second);
  await database.query("select :SCHEMA.tick_schedules()");
  everyTickOnce(await database.fired(), ["a1", "a2", "b", "z"], start + minute, start + minute, minute);
});

schedules("of fifty schedules four are broken, told about without a flood, and recover (R-73)", async () => {
  const database = await sandbox();
  const healthy = Array.from({ length: 46 }, (_, index) => `ok${String(index).padStart(2, "0")}`);
  for (const id of healthy)
    await database.query("select :SCHEMA.upsert_schedule($1, '* * * * *', 'k')", [id]);
  await database.query("select :SCHEMA.upsert_schedule('spec', '* * * * *', 'k')");
  await database.query("select :SCHEMA.upsert_schedule('poison', '* * * * *', 'bad')");
  await database.query("select :SCHEMA.upsert_schedule('full', '* * * * *', 'k', queue => 'full')");
  await database.query("select :SCHEMA.upsert_schedule('big', '* * * * *', 'k')");
  await database.query("update :SCHEMA.schedule set spec = '0 0 L * *' where id = 'spec'");
  await database.query(
    "update :SCHEMA.schedule set payload = decode(repeat('00', 1048577), 'hex') where id = 'big'",
  );
  await database.query("select :SCHEMA.set_enqueue_limit('full', 0)");
  await database.query(
    `insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
     values (:SCHEMA.fingerprint('bad', '{}'), 'bad', 3, 1, 'test')`,
  );
  for (let at = start; at <= start + 10 * minute + second; at += 5 * second) {
    await database.at(at + 1);
    await database.query("select :SCHEMA.tick_schedules(100)");
  }
  everyTickOnce(await database.fired(), healthy, start + minute, start + 10 * minute, minute);
  const events = await database.query<{ id: string; n: number; reasons: string[] }>(
    `select schedule_id as id, count(*)::integer as n, array_agg(distinct reason order by reason) as reasons
     from :SCHEMA.schedule_event where outcome <> 'enqueued' group by schedule_id order by schedule_id`,
  );
  assert.equal(
    events.map(({ id, reasons }) => [id, reasons]),
    [
      ["big", ["invalid_request"]],
      ["full", ["backpressure", "missed"]],
      ["poison", ["quarantined"]],
      ["spec", ["invalid_spec"]],
    ],
  );
  for (const { id, n } of events) assert.ok(n <= (id === "full" ? 22 : 11), `${id} has ${n} events`);
  const troubled = await database.query(
    "select id from :SCHEMA.schedules where last_error is not null order by id",
  );
  assert.equal(troubled, [{ id: "big" }, { id: "full" }, { id: "poison" }, { id: "spec" }]);

  await database.query("update :SCHEMA.schedule set spec = '* * * * *' where id = 'spec'");
  await database.query("update :SCHEMA.schedule set payload = '{}' where id = 'big'");
  await database.query("select :SCHEMA.set_enqueue_limit('full', null)");
  await database.query("delete from :SCHEMA.quarantine");
  for (let at = start + 10 * minute + 30 * second; at <= start + 12 * minute + second; at += 10 * second) {
    await database.at(at + 1);
    await database.query("select :SCHEMA.tick_schedules(100)");
  }
  const fired = await database.fired();
  for (const id of ["big", "full", "poison", "spec"]) {
    assert.ok(
      fired.some(({ schedule, tick }) => schedule === id && tick === start + 12 * minute),
      `${id} has not recovered`,
    );
  }
  assert.equal(await database.query("select id from :SCHEMA.schedules where last_error is not null"), []);
});

schedules("settings of session and database change nothing (R-72)", async () => {
  const database = await sandbox();
  const quoted = `"${database.name}"`;
  await database.query(`alter database ${quoted} set timezone = 'Asia/Kathmandu'`);
  await database.query(`alter database ${quoted} set datestyle = 'German'`);
  await database.query(`alter database ${quoted} set intervalstyle = 'sql_standard'`);
  await concurrently(database, 1, async (client) => {
    const { rows } = await client.query<{ zone: string; a: string; b: string }>(
      database.sql(`select current_setting('timezone') as zone,
        :SCHEMA.upsert_schedule('a', '0 0 * * *', 'k') as a,
        :SCHEMA.upsert_schedule('b', 'CRON_TZ=America/New_York 30 1 * * *', 'k') as b`),
    );
    assert.equal(rows, [
      { zone: "Asia/Kathmandu", a: String(Date.UTC(2026, 11, 2)), b: String(Date.UTC(2026, 11, 2, 6, 30)) },
    ]);
    await database.at(Date.UTC(2026, 11, 2) + second);
    await client.query(database.sql("select :SCHEMA.tick_schedules()"));
  });
  everyTickOnce(await database.fired(), ["a"], Date.UTC(2026, 11, 2), Date.UTC(2026, 11, 2), minute);
});

schedules.after(async () => {
  await Promise.all(databases.map((database) => database.close()));
});
schedules.run();
