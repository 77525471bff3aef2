/** A worker process of the example. DIE says at which moments it kills itself, each at another crash of the job. */
import { PgStore, Worker } from "../../src/index.js";
import { createTasks, type Moment } from "./order.js";

const deaths = (process.env["DIE"] ?? "").split(",") as Moment[];
const store = await PgStore.connect(process.env["DATABASE_URL"]);
const worker = new Worker(store, {
  queues: ["orders"],
  lease: "1s",
  // A process that dies holds its duties for another 10 s; this one has a supervisor that lives.
  duties: false,
  tasks: createTasks(store, (moment, crashes) => {
    if (deaths[crashes] !== moment) return;
    console.log(`worker ${process.pid} dies: ${moment}`);
    process.kill(process.pid, "SIGKILL");
  }),
});
process.once("SIGTERM", () => void worker.stop());
process.once("disconnect", () => void worker.stop({ mode: "abort" }));
await worker.start();
await worker.stopped();
await store.close();
if (process.connected) process.disconnect();
