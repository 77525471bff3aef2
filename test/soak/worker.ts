/** A worker process of the soak. It is started before the server as well as after it, and tells its parent how it fares. */
import pg from "pg";
import { jsonLogger, PgStore, Worker } from "../../src/index.js";
import { leaseMs, queues } from "./jobs.js";
import { soakTasks } from "./tasks.js";

const url = process.env["SOAK_URL"]!;
const pool = new pg.Pool({ connectionString: url, max: 10, connectionTimeoutMillis: 5_000 });
const store = new PgStore(pool, { schema: process.env["SOAK_SCHEMA"]!, callTimeoutMs: 5_000 });
store.withListen(url, { heartbeatMs: 2_000, answerMs: 2_000, minRetryMs: 100, maxRetryMs: 1_000 });

const worker = new Worker(store, {
  tasks: soakTasks(store),
  queues,
  lease: leaseMs,
  concurrency: 12,
  workerId: process.env["SOAK_WORKER"]!,
  shutdownGrace: "1s",
  stuckGrace: "2s",
  logger: jsonLogger("error"),
});
const tell = (event: string): void => void process.send?.(event);
worker.on("worker:ready", () => tell("ready"));
worker.on("job:settled", ({ outcome }) => tell(outcome));
worker.on("job:lost", () => tell("lost"));
worker.on("job:stuck", () => tell("stuck"));

// Whoever has started it is gone: nobody would look after it any more.
const orphaned = (): void => void process.kill(process.pid, "SIGKILL");
process.on("disconnect", orphaned);
process.on("SIGTERM", () => {
  void worker.stop().then(async () => {
    await store.close();
    await pool.end();
    // It ends by itself now: whatever keeps it alive is a leak.
    process.off("disconnect", orphaned);
    process.disconnect();
  });
});
await worker.start();
