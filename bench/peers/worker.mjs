// One worker process of one system: node --import tsx worker.mjs <system> <url>. Says "ready", then "start <ms>" for each
// job that carries the time of its enqueue; ends with the first line on stdin.
import { systems } from "./systems.mjs";

const [name, url] = process.argv.slice(2);
const stop = await systems[name].work(url, (enqueuedAt) => {
  if (enqueuedAt) process.stdout.write(`start ${performance.timeOrigin + performance.now() - enqueuedAt}\n`);
});
process.stdout.write("ready\n");
process.stdin.once("data", () => void stop().then(() => process.exit(0)));
