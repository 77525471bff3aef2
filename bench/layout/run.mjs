// Compares physical layouts of the job tables. See docs/decisions/0001-physical-layout.md.
//
//   node bench/layout/run.mjs                    everything (hours, mostly the old snapshot)
//   node bench/layout/run.mjs --quick            everything, small (minutes)
//   node bench/layout/run.mjs --only drain,wal   some of: enqueue drain wal backlog snapshot plans hot
//   node bench/layout/run.mjs --designs in-place,hot-claim --variants
//   node bench/layout/run.mjs --repeat 5 --minutes 10 --rate 2000
//
// Repetitions are interleaved, and tables show medians. Numbers of different runs do not compare.
import { parseArgs } from "node:util";
import { median } from "./lib/contest.mjs";
import { contestants, variants } from "./lib/contestants.mjs";
import * as scenarios from "./lib/scenarios.mjs";
import { startServer } from "./lib/server.mjs";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    designs: { type: "string" },
    variants: { type: "boolean", default: false },
    repeat: { type: "string" },
    minutes: { type: "string" },
    rate: { type: "string", default: "2000" },
  },
});
const repeat = Number(flags.repeat ?? (flags.quick ? 1 : 3));
const minutes = Number(flags.minutes ?? (flags.quick ? 1 : 10));
const drained = flags.quick ? 20_000 : 50_000;
const everyone = { ...contestants, ...variants };
const names =
  flags.designs?.split(",") ?? Object.keys(flags.variants ? { "hot-claim": 0, ...variants } : contestants);
for (const name of names) {
  if (!everyone[name])
    throw new Error(`no design is called "${name}"; there are: ${Object.keys(everyone).join(", ")}`);
}

const server = await startServer();

/** Runs each configuration `repeat` times for each design, interleaved; medians of every figure. */
async function compare(title, configurations, scenario, format) {
  const results = configurations.map(() => Object.fromEntries(names.map((name) => [name, []])));
  for (let repetition = 0; repetition < repeat; repetition += 1) {
    for (const [i, { options }] of configurations.entries()) {
      for (const name of names) results[i][name].push(await scenario(server, everyone[name], options));
    }
  }
  const rows = configurations.map(({ label }, i) => [
    label,
    ...names.map((name) => {
      const runs = results[i][name];
      return format(
        Object.fromEntries(Object.keys(runs[0]).map((key) => [key, median(runs.map((run) => run[key]))])),
      );
    }),
  ]);
  print(title, ["", ...names], rows);
}

function print(title, head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  console.log(`\n### ${title}\n\n${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}`);
}

const number = (value) => Math.round(value).toLocaleString("en");
const rateAndCpu = ({ jobsPerSecond, cpuUsPerJob }) => `${number(jobsPerSecond)} (${number(cpuUsPerJob)} us)`;

const measurements = {
  enqueue: () =>
    compare(
      "Enqueue, jobs/s (server CPU per job)",
      [{ label: "batches of 1000", options: { jobs: drained } }],
      scenarios.enqueueRate,
      rateAndCpu,
    ),

  drain: () =>
    compare(
      "Drain, jobs/s (server CPU per job)",
      (flags.variants ? [100, 500] : [16, 100, 500]).flatMap((batch) =>
        [1, 10].flatMap((partitions) =>
          [1, 2].map((connections) => ({
            label: `batch ${batch}, partitions ${partitions}, connections ${connections}`,
            options: { jobs: batch === 16 ? drained / 2 : drained, batch, partitions, connections },
          })),
        ),
      ),
      scenarios.drainRate,
      rateAndCpu,
    ),

  wal: () =>
    compare(
      "WAL bytes per job: insert to delete (enqueue + drain), and with the vacuum that follows",
      ["off", "on"].map((fullPageWrites) => ({
        label: `full_page_writes ${fullPageWrites}`,
        options: { jobs: 20_000, fullPageWrites },
      })),
      scenarios.walPerJob,
      (wal) =>
        `${number(wal.insertToDelete)} (${number(wal.enqueue)} + ${number(wal.drain)}), ${number(wal.withVacuum)}`,
    ),

  backlog: () =>
    compare(
      "Drain of 10,000 from a backlog just loaded, batches of 100, jobs/s (server CPU per job)",
      [10_000, flags.quick ? 200_000 : 1_000_000].map((backlog) => ({
        label: `backlog ${number(backlog)}`,
        options: { backlog },
      })),
      scenarios.backlogDrain,
      rateAndCpu,
    ),

  async snapshot() {
    const options = {
      rate: Number(flags.rate),
      windows: flags.quick ? 3 * minutes : minutes,
      windowSeconds: flags.quick ? 20 : 60,
    };
    const results = [];
    for (const name of names) results.push(await scenarios.oldSnapshot(server, everyone[name], options));
    print(
      `Old snapshot, ${flags.rate} jobs/s in and out: jobs/s, median claim, server CPU per job`,
      [`window of ${options.windowSeconds} s`, ...names],
      results[0].map((_, i) => [
        i === 0 ? "before" : i,
        ...results.map(
          (rows) =>
            `${number(rows[i].jobsPerSecond)}, ${rows[i].claimMs.toFixed(1)} ms, ${number(rows[i].cpuUsPerJob)} us`,
        ),
      ]),
    );
  },

  async plans() {
    const results = [];
    for (const name of names) results.push(await scenarios.plans(server, everyone[name]));
    print(
      "Pages touched by claim + acknowledgement of 100 jobs",
      ["statistics", ...names],
      Object.keys(results[0]).map((situation) => [
        situation,
        ...results.map((rows) => `${number(rows[situation].claim)} + ${number(rows[situation].ack)}`),
      ]),
    );
  },

  async hot() {
    const designs = ["hot-claim", ...Object.keys(variants).filter((name) => name.includes("fillfactor"))];
    const sizes = [20, 60, 200, 600, 1200, 1800];
    const rows = [];
    for (const payloadBytes of sizes) {
      const shares = [];
      for (const name of designs)
        shares.push(await scenarios.hotShare(server, everyone[name], { payloadBytes }));
      rows.push([`${payloadBytes} B`, ...shares.map((share) => `${(share * 100).toFixed(1)} %`)]);
    }
    print("Claims that were HOT updates, by size of payload", ["payload", ...designs], rows);
  },
};

try {
  for (const name of flags.only?.split(",") ?? Object.keys(measurements)) await measurements[name]();
} finally {
  await server.stop();
}
