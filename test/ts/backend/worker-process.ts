/** A process with a worker of the backend, for tests that kill it. */
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresQueueBackend, TaskRuntime } from "../../../src/index.js";

const { url, schema, pool, taskName } = JSON.parse(process.env["WORK"] ?? "{}") as Record<
  "url" | "schema" | "pool" | "taskName",
  string
>;
const backend = await PostgresQueueBackend.connect(url, { schema });
const runtime = new TaskRuntime(backend, {
  tasks: { [taskName]: () => sleep(20) },
  pools: [pool],
  concurrency: 4,
  lease: "1s",
});
const worker = runtime.worker();
process.once("SIGTERM", () => void worker.stop().then(() => backend.close()));
await worker.start();
