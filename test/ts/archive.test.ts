import { suite } from "uvu";
import * as assert from "uvu/assert";
import { concurrently } from "./support/concurrently.js";
import { testDatabase } from "./support/database.js";
import { ack, admitOne, enqueue, jobIn, moveClock, stateOf } from "./support/jobs.js";
import { backendPid, blocked } from "./support/locks.js";
import { refusal } from "./support/refusal.js";

const archive = suite("archive");
const database = await testDatabase({ poolSize: 20 });
const { query } = database;
const day = 86_400_000;
/** A row that failed is tried again after so long. */
const shelf = 61_000;
const month = async (ahead = 0): Promise<string> => {
  const [row] = await query(
    "select to_char((to_timestamp(:SCHEMA.now_ms() / 1000) at time zone 'UTC') + make_interval(months => $1), 'YYYY-MM') as m",
    [ahead],
  );
  return String(row?.["m"]);
};
const evict = async (): Promise<number> =>
  Number((await query("select :SCHEMA.evict_retained() as n"))[0]?.["n"]);
const prune = async (name: string | null): Promise<number> =>
  Number((await query("select :SCHEMA.prune_archive_month($1) as n", [name]))[0]?.["n"]);
const duties = async (): Promise<void> => {
  await query("select :SCHEMA.make_archive_months()");
};
const listed = async (...values: unknown[]): Promise<Record<string, unknown>[]> =>
  query("select * from :SCHEMA.list_archive($1, $2, $3, $4)", [
    values[0] ?? null,
    values[1] ?? null,
    values[2] ?? null,
    values[3] ?? 50,
  ]);

await query("select :SCHEMA.set_archive_policy('kept', $1)", [day]);

archive("eviction copies what the policy asks for, with its history, and nothing else", async () => {
  const id = await enqueue(database, {
    queue: "kept",
    payload: { n: 1 },
    tags: ["t"],
    headers: { h: "1" },
    retention_ms: 1,
    id: "kept-1",
  });
  await ack(database, await admitOne(database, { queue: "kept" }), "retry", { error: "first", delayMs: 0 });
  await ack(database, await admitOne(database, { queue: "kept" }), "skip", { error: "second" });
  const other = await jobIn(database, "archived", { queue: "other", retention_ms: 1 });
  const quarantined = await jobIn(database, "quarantined", { queue: "kept", retention_ms: 1, payload: "q" });
  await moveClock(database, 1000);
  assert.is(await evict(), 2);
  assert.is(await stateOf(database, id), undefined);
  assert.is(await stateOf(database, other), undefined);
  assert.is(await stateOf(database, quarantined), "quarantined");
  const rows = await listed();
  assert.equal(
    rows.map((row) => row["id"]),
    ["kept-1"],
  );
  const [row = {}] = rows;
  assert.is(row["state"], "archived");
  assert.equal(row["tags"], ["t"]);
  assert.is(Number(row["expires_at_ms"]) - Number(row["evicted_at_ms"]), day);
  assert.equal(
    (row["attempts"] as { error: string }[]).map(({ error }) => error),
    ["first", "second"],
  );
  assert.ok(!("payload" in row));
  const [whole] = await query("select payload, headers from :SCHEMA.get_archived_job('kept-1')");
  assert.equal(whole?.["payload"], Buffer.from('{"n":1}'));
  assert.equal(whole?.["headers"], { h: "1" });
  // The id is free again.
  await enqueue(database, { queue: "kept", id: "kept-1" });
  await query("select :SCHEMA.delete_job('kept-1')");
});

archive("list_archive pages by month and queue", async () => {
  for (let n = 0; n < 5; n++) await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  assert.is(await evict(), 5);
  const seen: unknown[] = [];
  let cursor: unknown = null;
  for (let page = 0; page < 10; page++) {
    const rows = await listed("kept", await month(), cursor, 2);
    if (rows.length === 0) break;
    seen.push(...rows.map((row) => row["id"]));
    cursor = rows.at(-1)?.["next_cursor"];
  }
  assert.is(seen.length, 6);
  assert.is(new Set(seen).size, 6);
  assert.equal(await listed("other"), []);
  assert.equal(await listed(null, "2020-01"), []);
  assert.is((await refusal(listed(null, "2020-13"))).code, "HR007");
  assert.is((await refusal(listed(null, null, "x"))).code, "HR007");
  assert.is((await refusal(listed(null, null, null, 201))).code, "HR007");
});

archive("clear_archive_policy stops the copies and keeps what is there", async () => {
  await query("select :SCHEMA.set_archive_policy('cleared', 1000)");
  await query("select :SCHEMA.clear_archive_policy('cleared')");
  await query("select :SCHEMA.clear_archive_policy('cleared')");
  await jobIn(database, "archived", { queue: "cleared", retention_ms: 1 });
  await moveClock(database, 1000);
  assert.is(await evict(), 1);
  assert.equal(await listed("cleared"), []);
  assert.is((await listed("kept")).length, 6);
});

archive("a failed copy leaves the job where it is and is reported (R-84)", async () => {
  const bad = await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  const good = await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await query(
    "create function public.fail_copy() returns trigger language plpgsql as " +
      `$$ begin if new.job_id = '${bad}' then raise exception 'disk full'; end if; return new; end $$`,
  );
  await query(
    "create trigger fail_copy before insert on :SCHEMA.job_archive for each row execute function public.fail_copy()",
  );
  await moveClock(database, 1000);
  assert.is(await evict(), 1);
  assert.is(await stateOf(database, bad), "archived");
  assert.is(await stateOf(database, good), undefined);
  const [error] = await query("select * from :SCHEMA.sweep_error where sweep = 'evict_retained'");
  assert.match(String(error?.["error"]), "disk full");
  await query("drop trigger fail_copy on :SCHEMA.job_archive");
  await moveClock(database, shelf);
  assert.is(await evict(), 1);
  assert.equal(await query("select from :SCHEMA.sweep_error"), []);
});

archive("months are made ahead; a missing one leaves the jobs until it is there (R-84)", async () => {
  const months = (): Promise<Record<string, unknown>[]> =>
    query(
      "select inhrelid::regclass::text from pg_inherits where inhparent = ':SCHEMA.job_archive'::regclass",
    );
  const before = (await months()).length;
  assert.is(before, 3);
  await moveClock(database, 400 * day);
  const id = await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  assert.is(await evict(), 0);
  assert.is(await stateOf(database, id), "archived");
  await duties();
  await duties();
  // The two that had been made ahead are of the past now, and empty.
  assert.is((await months()).length, 4);
  await moveClock(database, shelf);
  assert.is(await evict(), 1);
  assert.is((await listed("kept", await month())).length, 1);
});

archive("prune refuses bad names, open months and rows still in their time", async () => {
  for (const name of [null, "", "2026", "202613", "2026-00", "2031;DROP", "20260101", "١٢٣٤٥٦", " 202601"]) {
    const { code, fields } = await refusal(prune(name));
    assert.is(code, "HR007", String(name));
    assert.is(fields["field"], "month");
  }
  assert.is((await refusal(prune(await month()))).code, "HR007");
  assert.is((await refusal(prune((await month(1)).replace("-", "")))).code, "HR007");
  assert.is(await prune("1999-01"), 0);
  await query("select :SCHEMA.set_archive_policy('kept', $1)", [90 * day]);
  await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  const name = await month();
  assert.is(await evict(), 1);
  await moveClock(database, 40 * day);
  const { fields } = await refusal(prune(name));
  assert.match(String(fields["reason"]), "has 1 jobs");
  await moveClock(database, 90 * day);
  assert.is(await prune(name), 2);
  assert.is(await prune(name), 0);
});

archive("prune gives up on a reader in time, holds up no live path, and works later (R-31)", async () => {
  await duties();
  await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  const name = await month();
  assert.is(await evict(), 1);
  await moveClock(database, 130 * day);
  await duties();
  const reader = await database.connect();
  await reader.query("begin");
  await reader.query(database.sql("select * from :SCHEMA.list_archive(month => $1)"), [name]);
  const pruner = await database.connect();
  const late = refusal(pruner.query(database.sql("select :SCHEMA.prune_archive_month($1)"), [name]));
  await blocked(database.pool, pruner);
  // While it waits: evict, admit and ack do not.
  await query("set lock_timeout = 0");
  const id = await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  const live = await database.connect();
  await live.query("set lock_timeout = '5s'");
  assert.is((await live.query(database.sql("select :SCHEMA.evict_retained() as n"))).rows[0].n, "1");
  assert.is(await stateOf(database, id), undefined);
  assert.is((await late).code, "55P03");
  await reader.query("commit");
  assert.is(await prune(name), 1);
});

archive("the janitor removes archived jobs past their time", async () => {
  await moveClock(database, 400 * day);
  let gone = 1;
  while (gone > 0) gone = Number((await query("select :SCHEMA.janitor(2) as n"))[0]?.["n"]);
  assert.equal(await listed(), []);
});

archive("a past month without jobs is dropped, by a duty that waits for nobody", async () => {
  const months = async (): Promise<string[]> =>
    (
      await query<{ name: string }>(
        "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid " +
          "where i.inhparent = ':SCHEMA.job_archive'::regclass order by 1",
      )
    ).map(({ name }) => name);
  const make = async (): Promise<number> =>
    Number((await query("select :SCHEMA.make_archive_months() as n"))[0]?.["n"]);
  while ((await make()) > 0);
  const [current] = await months();
  assert.is(current, `job_archive_${(await month()).replace("-", "")}`, "nothing of the past is left");
  await jobIn(database, "archived", { queue: "kept", retention_ms: 1 });
  await moveClock(database, 1000);
  assert.is(await evict(), 1);
  const full = await month();
  await moveClock(database, 130 * day);
  while ((await make()) > 0);
  assert.is((await months())[0], current, "a month with a job is kept");
  assert.is((await months()).length, 4);

  assert.is(await prune(full), 1);
  const reader = await database.connect();
  await reader.query("begin");
  await reader.query(database.sql("select * from :SCHEMA.list_archive()"));
  assert.is(await make(), 0);
  assert.is((await months())[0], current, "while somebody reads the archive it stays");
  await reader.query("commit");
  assert.is(await make(), 1);
  assert.is((await months()).length, 3);
  assert.is(await make(), 0);
  assert.is(await prune(full), 0);
  assert.equal(await listed(null, full), []);
});

archive("the months are made once, however many nodes make them", async () => {
  const made = await concurrently(database, 8, async (client) => {
    const { rows } = await client.query<{ made: boolean }>(
      database.sql("select :SCHEMA.make_archive_partition('2050-01-01') as made"),
    );
    return rows[0]?.made;
  });
  assert.equal(made.filter(Boolean).length, 1);
});

archive("every job is in one place, however often the evicting backend is killed (R-84)", async () => {
  await duties();
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) {
    ids.push(await jobIn(database, "archived", { queue: "kept", retention_ms: 1 }));
  }
  await moveClock(database, 1000);
  let killed = 0;
  for (let round = 0; round < 20; round++) {
    const client = await database.connect();
    const sweep = client.query(database.sql("select :SCHEMA.evict_retained(4), pg_sleep(0.02)")).then(
      () => undefined,
      () => killed++,
    );
    if (round % 2 === 0) {
      await query("select pg_sleep(0.005)");
      await query("select pg_terminate_backend($1)", [backendPid(client)]);
    }
    await sweep;
    const [count] = await query(
      "select (select count(*) from :SCHEMA.job where queue = 'kept' and state = 'archived') + " +
        "(select count(*) from :SCHEMA.job_archive where job_id = any($1)) as n",
      [ids],
    );
    assert.is(count?.["n"], "40");
  }
  assert.ok(killed > 0);
});

archive.after(() => database.close());
archive.run();
