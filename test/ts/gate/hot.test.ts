import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";
import { gate } from "./support.js";

/** An index that looks at a column which a claim changes would end this, and with it the speed of the gate. */
const hot = suite("claims are HOT updates");
const database = await testDatabase();
const { admit, enqueue, one } = gate(database);
hot.after(() => database.close());

for (const bytes of [10, 200, 1500]) {
  hot(`with payloads of ${bytes} bytes`, async () => {
    await database.query("select pg_stat_force_next_flush(), pg_stat_reset()");
    await enqueue(600, { payload: "x".repeat(bytes) });
    const client = await database.connect();
    let claimed = 0;
    for (let call = 0; call < 6; call++) claimed += (await admit({ client, capacity: 100 })).claims.length;
    assert.is(claimed, 600);
    await client.query("select pg_stat_force_next_flush()");
    await client.end();
    const counted = (column: string) =>
      one<string>(`select ${column} from pg_stat_user_tables where relid = ':SCHEMA.job'::regclass`).then(
        Number,
      );
    assert.is(await counted("n_tup_upd"), 600);
    assert.is(await counted("n_tup_hot_upd"), 600);
  });
}

hot.run();
