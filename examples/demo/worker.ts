/** A worker process of the demo. The supervisor in main.ts starts two of these, and starts one again when it dies. */
import { setTimeout as sleep } from "node:timers/promises";
import { PgStore, task, Worker } from "../../src/index.js";
import { digest } from "./digest.js";

export interface FileJob {
  readonly path: string;
  /** Kills whoever reads it. */
  readonly poison?: boolean;
  /** Its first attempt fails. */
  readonly flaky?: boolean;
}

const store = await PgStore.connect(process.env["DATABASE_URL"], { listen: true });
const worker = new Worker(store, {
  queues: ["files", "pings"],
  concurrency: 32,
  lease: "2s",
  tasks: {
    "file:digest": task<FileJob>({
      retryDelay: (attempt) => 200 * 2 ** attempt,
      async handler({ path, poison, flaky }, job) {
        if (poison) process.kill(process.pid, "SIGKILL");
        if (flaky && job.attempt === 0) throw new Error(`${path} was busy, as it happens`);
        return digest(path, job.signal);
      },
    }),
    ping: () => ({ startedAtMs: performance.timeOrigin + performance.now() }),
  },
});
process.once("SIGTERM", () => void worker.stop());
// Without its supervisor a worker has nobody to work for.
process.once("disconnect", () => void worker.stop({ mode: "abort" }));
await worker.start();
await worker.stopped();
await store.close();
if (process.connected) process.disconnect();
await sleep(0);
