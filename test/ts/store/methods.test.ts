import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const methods = suite("store methods");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });

methods.after(() => database.close());

methods("a job runs from end to end", async () => {
  const [job] = await store.enqueue([{ kind: "email:welcome", payload: { to: "ada" }, retentionMs: 60_000 }]);
  assert.is(job?.disposition, "inserted");
  const claims = await store.admit({ worker: "w1", queues: ["default"] });
  assert.is(claims.length, 1);
  assert.equal(claims.refused, {});
  assert.is(claims.nextDueMs, null);
  const [claim] = claims;
  assert.ok(claim);
  assert.is(claim.id, job?.id);
  assert.is(typeof claim.fence, "bigint");
  assert.is(claim.payload.toString(), '{"to":"ada"}');
  assert.equal(await store.renew([claim], 30_000), []);
  assert.is(await store.ack(claim, "success"), "completed");
  assert.is((await store.getJob(claim.id))?.state, "completed");
});

methods.run();
