/**
 * The long form of the soak: npm run soak [-- --minutes 10] [--seed n] [--rate 30]
 *
 * The same seed brings the same jobs, and the same faults in the same order. Ends with code 1 where anything is wrong.
 */
import { parseArgs } from "node:util";
import { runSoak } from "./soak.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    rate: { type: "string", default: "30" },
  },
});
const [minutes, seed, rate] = [Number(values.minutes), Number(values.seed), Number(values.rate)];
if (!(minutes >= 0) || !Number.isInteger(seed) || !(rate > 0)) {
  console.error("--minutes and --rate take numbers, --seed a whole one");
  process.exit(64);
}
console.log(`seed ${seed}, ${minutes} minutes, ${rate} jobs a second`);
const report = await runSoak({ seed, minutes, rate, drainMs: 300_000, log: (line) => console.log(line) });

const line = (name: string, value: number | string): void => console.log(`${name.padEnd(32)}${value}`);
console.log("");
for (const [name, times] of [...report.faults].sort(([a], [b]) => a.localeCompare(b))) line(name, times);
console.log("");
for (const [name, value] of Object.entries(report.figures)) line(name, value);
console.log("");
for (const complaint of report.complaints) console.log(`WRONG: ${complaint}`);
if (report.complaints.length === 0) console.log("every effect exactly once, nothing lost, nothing stuck");
process.exitCode = report.complaints.length === 0 ? 0 : 1;
