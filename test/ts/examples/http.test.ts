import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createApp, createTables, tasks } from "../../../examples/http/app.js";
import { dropTestSchemas, testQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { runExample } from "./support.js";

const http = suite("example http");
const database = await testDatabase({ installed: false });

const post = (port: string | number, body: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/customers`, { method: "POST", body });

http("row and job commit together, and a request that fails leaves neither", async () => {
  const { pool } = database;
  await using queue = await testQueue({ pool, tasks });
  await createTables(pool);
  const app = createApp(pool, queue.store).listen(0, "127.0.0.1");
  await once(app, "listening");
  const { port } = app.address() as AddressInfo;
  const customers = async (): Promise<unknown[]> =>
    (await pool.query("select email, name from customer order by email")).rows;
  try {
    const created = await post(port, '{"email": "ada@example.org", "name": "Ada"}');
    assert.is(created.status, 201);
    const { job } = (await created.json()) as { job: string };
    assert.equal(await customers(), [{ email: "ada@example.org", name: "Ada" }]);
    const payload = { email: "ada@example.org", name: "Ada" };
    assert.is((await queue.assertEnqueued({ kind: "email:welcome", payload })).id, job);

    // The address is taken: the insert fails after the job was enqueued.
    assert.is((await post(port, '{"email": "ada@example.org", "name": "Eve"}')).status, 409);
    assert.is((await post(port, '{"email": "bob@example.org"}')).status, 400);
    assert.is((await post(port, "{")).status, 400);
    assert.is((await fetch(`http://127.0.0.1:${port}/`)).status, 404);
    assert.equal(await customers(), [{ email: "ada@example.org", name: "Ada" }]);
    assert.is((await queue.enqueued()).length, 1);

    const runs = await queue.drain();
    assert.equal(
      runs.map(({ id, outcome }) => [id, outcome]),
      [[job, "success"]],
    );
  } finally {
    app.close();
    app.closeAllConnections();
    await pool.query("drop table customer");
  }
});

http("as a program: the mail is sent, and it stops when asked to", async () => {
  const example = runExample("http", database.url);
  try {
    const port = await example.says(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    assert.is((await post(port, '{"email": "zoe@example.org", "name": "Zoe"}')).status, 201);
    await example.says(/to zoe@example\.org: welcome, Zoe/);
    example.child.kill("SIGTERM");
    assert.is(await example.ended(), 0);
  } finally {
    example.child.kill("SIGKILL");
  }
});

http.after(async () => {
  await dropTestSchemas({ url: database.url });
  await database.close();
});
http.run();
