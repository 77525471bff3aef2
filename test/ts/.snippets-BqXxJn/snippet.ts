import { Client, PgStore, Worker } from "../../../src/index.js";

const store = await PgStore.connect(process.env.DATABASE_URL!, { schema: "headrace", listen: true });

const client = new Client(store);
const { id } = await client.enqueue("email:welcome", { to: "ada@example.org" }, { partitionKey: "acme" });
console.log("enqueued", id);

const worker = new Worker(store, {
  queues: ["default"],
  concurrency: 16,
  tasks: {
    "email:welcome": async (payload: { to: string }, job) => {
      await job.step("send", async () => console.log("sending to", payload.to));
    },
  },
});
await worker.start();
process.on("SIGTERM", () => worker.stop());
setTimeout(() => process.kill(process.pid, "SIGTERM"), 2000).unref();
