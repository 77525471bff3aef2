// One worker process of one system: node --import tsx worker.mjs <system> <url>. Says "loaded", begins with the line "work"
// on stdin and says "ready", then "start <ms>" for each job that carries the time of its enqueue; ends with "stop".
import { once } from "node:events";
import { createInterface } from "node:readline";
import { systems } from "./systems.mjs";

const [name, url] = process.argv.slice(2);
const orders = createInterface({ input: process.stdin });
process.stdout.write("loaded\n");
await once(orders, "line");
const stop = await systems[name].work(url, (enqueuedAt) => {
  if (enqueuedAt) process.stdout.write(`start ${performance.timeOrigin + performance.now() - enqueuedAt}\n`);
});
process.stdout.write("ready\n");
await once(orders, "line");
await stop();
process.exit(0);
