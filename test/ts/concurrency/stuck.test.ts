import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";
import { enqueueAll, moveClock } from "../support/jobs.js";

// timeout: 120 s
const stuck = suite("sweeps beside locks and time-outs");
const database = await testDatabase();
const { query } = database;
const sql = (text: string): string => database.sql(text);

stuck(
  "a bulk retry is not held up by a key that an open transaction has, and takes the job afterwards",
  async () => {
    const ids = await enqueueAll(
      database,
      Array.from({ length: 40 }, (_, n) => ({ queue: "keys", unique_key: `k${n}`, payload: n })),
    );
    for (const id of ids) await query("select :SCHEMA.operator_cancel($1)", [id]);
    const rival = await database.connect();
    await rival.query("begin");
    await rival.query(sql("select :SCHEMA.enqueue('task', queue => 'other', unique_key => 'k17')"));

    const [row] = await query("select :SCHEMA.create_operation('retry', '{\"queue\": \"keys\"}') as id");
    const shown = async (): Promise<Record<string, unknown>> =>
      (await query("select * from :SCHEMA.get_operation($1)", [row?.["id"]]))[0] ?? {};
    const runner = await database.connect();
    await runner.query("set statement_timeout = '30s'");
    for (let call = 0; call < 3; call++) {
      await runner.query(sql("select :SCHEMA.run_pending_operations()"));
    }
    const meanwhile = await shown();
    assert.equal([meanwhile["status"], meanwhile["affected"]], ["running", "39"]);
    assert.match(Object.keys(meanwhile["skipped_for"] as object)[0] ?? "", /^55P03 /);

    await rival.query("rollback");
    for (let call = 0; call < 4; call++) {
      await runner.query(sql("select :SCHEMA.run_pending_operations()"));
    }
    const done = await shown();
    assert.equal([done["status"], done["affected"], done["skipped"]], ["completed", "40", "0"]);
  },
);

stuck(
  "a duty gets its work done under a statement_timeout that its batch is too large for (R-82)",
  async () => {
    const total = 60;
    const ids = await enqueueAll(
      database,
      Array.from({ length: total }, (_, n) => ({ queue: "slow", retention_ms: 1, payload: n })),
    );
    for (const id of ids) await query("select :SCHEMA.operator_cancel($1)", [id]);
    await query(
      "create function public.slowly() returns trigger language plpgsql as " +
        "$$ begin perform pg_sleep(0.05); return old; end $$",
    );
    await query(
      "create trigger slowly before delete on :SCHEMA.job for each row execute function public.slowly()",
    );
    const node = await database.connect();
    await node.query("set statement_timeout = '1s'");
    let failures = 0;
    let left = total;
    for (let run = 0; run < 60 && left > 0; run++) {
      await moveClock(database, 5000);
      const { rows } = await node.query<{ did: string; error: string | null }>(
        sql("select did, error from :SCHEMA.run_duties('node', array['evict_retained'], 100)"),
      );
      if (rows[0]?.error) failures++;
      left -= Number(rows[0]?.did);
    }
    await query("drop trigger slowly on :SCHEMA.job");
    assert.is(left, 0);
    // The limit was met, and not at every second run.
    assert.ok(failures > 0 && failures < 15, `${failures} failures`);
    const [duty] = await query(
      "select failures, last_error, ran_at_ms from :SCHEMA.duty where name = 'evict_retained'",
    );
    assert.is(duty?.["failures"], 0);
    assert.type(duty?.["ran_at_ms"], "string");
  },
);

stuck.after(() => database.close());
stuck.run();
