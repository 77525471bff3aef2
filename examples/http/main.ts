/**
 * npm run example:http
 *
 * A server that enqueues in the transaction of its request, and a worker beside it. PORT says where it listens; the default
 * is a free port. It runs until it is interrupted.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { PgStore, Worker } from "../../src/index.js";
import { openDatabase } from "../lib/database.js";
import { createApp, createTables, tasks } from "./app.js";

const database = await openDatabase();
const store = await PgStore.connect(database.url, { listen: true });
await createTables(store.pool);

const worker = new Worker(store, { tasks });
await worker.start();

const app = createApp(store.pool, store).listen(Number(process.env["PORT"] ?? 0), "127.0.0.1");
await once(app, "listening");
const { port } = app.address() as AddressInfo;
console.log(`listening on http://127.0.0.1:${port}`);
console.log(`curl -d '{"email": "ada@example.org", "name": "Ada"}' http://127.0.0.1:${port}/customers`);

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
await once(interrupted.signal, "abort");
app.close();
app.closeAllConnections();
await worker.stop();
await store.close();
await database.close();
