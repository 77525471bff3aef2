import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { withWorkers } from "../support/worker-setting.js";

const replaced = suite("migrations under load");

replaced(
  "workers and producers go on while functions are replaced, made anew and columns are added (R-87)",
  () =>
    withWorkers(async ({ database, connect, run, until }) => {
      const failures: unknown[] = [];
      const ran = new Map<string, number>();
      for (const workerId of ["w1", "w2"]) {
        const on = connect(database.url, { prepared: true, maxSize: 4 });
        const note = (_: string, fields?: unknown): void => void failures.push(fields);
        await run(
          { a: (_: unknown, job) => void ran.set(job.id, (ran.get(job.id) ?? 0) + 1) },
          {
            on,
            workerId,
            poll: { min: 10, max: 50 },
            logger: { debug: () => undefined, info: () => undefined, warn: note, error: note },
          },
        );
      }
      const producer = connect(database.url, { prepared: true, maxSize: 2 });
      const ids: string[] = [];
      let over = false;
      const producing = (async () => {
        while (!over) {
          const jobs = await producer.enqueue(
            [1, 2, 3].map(() => ({ kind: "a", payload: {}, retentionMs: 3_600_000 })),
          );
          ids.push(...jobs.map(({ id }) => id));
          await sleep(10);
        }
      })();
      const definition = async (name: string): Promise<string> => {
        const [row] = await database.query<{ text: string }>(
          "select pg_get_functiondef(p.oid) as text from pg_proc p " +
            "where p.pronamespace = quote_ident(:SCHEMA_LITERAL)::regnamespace and p.proname = $1",
          [name],
        );
        return row!.text;
      };
      const [admit, ackBatch] = [await definition("admit_hinted"), await definition("ack_batch")];
      // With one more column in its result, as after a release.
      const wider = ackBatch
        .replace("rejected boolean)", "rejected boolean, more text)")
        .replace("s.ord is null\n", "s.ord is null, null::text\n");
      assert.match(wider, /more text[^]*null::text/);
      for (let round = 0; round < 20; round++) {
        await database.pool.query(admit);
        await database.query("alter table :SCHEMA.job_extra add column later integer");
        await database.query(`begin; drop function :SCHEMA.ack_batch; ${wider}; commit`);
        await sleep(50);
        await database.query("alter table :SCHEMA.job_extra drop column later");
        await database.query(`begin; drop function :SCHEMA.ack_batch; ${ackBatch}; commit`);
        await sleep(50);
      }
      over = true;
      await producing;
      for (const id of ids) await until(id, "completed");
      assert.ok(ids.length > 50);
      assert.is([...ran.values()].filter((times) => times > 1).length, 0);
      assert.is(ran.size, ids.length);
      assert.equal(failures, []);
    }),
);

replaced.run();
