import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/store/index.js";
import { Worker } from "../../../src/worker/index.js";
import { testDatabase } from "../support/database.js";

const test = suite("worker smoke");
test("runs jobs", async () => {
  const database = await testDatabase();
  const store = new PgStore(database.pool, { schema: database.schema });
  await store.enqueue(Array.from({ length: 500 }, (_, n) => ({ kind: "a", payload: { n } })));
  let ran = 0;
  const worker = new Worker(store, { tasks: { a: () => void ran++ } });
  worker.on("job:settled", () => {
    if (ran === 500) void worker.stop();
  });
  await worker.start();
  await worker.stopped();
  assert.is(ran, 500);
  await database.close();
});
test.run();
