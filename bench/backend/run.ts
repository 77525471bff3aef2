/**
 * Draining through the QueueBackend surface: 1, 4 and 16 claimers, each claim and each end a call and a commit of its own.
 * The numbers of claimers take turns, so that the ratios hold on a machine whose speed drifts.
 *
 *   npm run bench:backend [-- --jobs 600 --rounds 3]
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { PostgresQueueBackend } from "../../src/index.js";
import { median, ratio } from "../support/figures.js";
import { benchServer } from "../support/server.js";

const { values: flags } = parseArgs({
  options: { jobs: { type: "string", default: "600" }, rounds: { type: "string", default: "3" } },
});
const jobs = Number(flags.jobs);
const rounds = Number(flags.rounds);
const claimers = [1, 4, 16];

const server = await benchServer();
const backend = await PostgresQueueBackend.fromPool(server.pool);
const rates = new Map<number, number[]>(claimers.map((count) => [count, []]));

async function drain(count: number): Promise<number> {
  const pool = `bench-${count}`;
  const params = JSON.stringify({ text: "x".repeat(180) });
  await Promise.all(
    Array.from({ length: jobs }, () =>
      backend.enqueueWithPolicies({ jobId: randomUUID(), taskName: "bench", pool, paramsJson: params }),
    ),
  );
  const start = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (
        let claim = await backend.popClaimFromPool(pool);
        claim;
        claim = await backend.popClaimFromPool(pool)
      ) {
        await backend.finishRun(claim.runId ?? "", "success");
        done++;
      }
    }),
  );
  const rate = done / ((performance.now() - start) / 1000);
  if (done !== jobs) console.warn(`${jobs - done} jobs were passed over by claimers that met a locked one`);
  return rate;
}

try {
  for (let round = 0; round < rounds + 1; round++) {
    for (const count of claimers) {
      const rate = await drain(count);
      // The first round warms caches and plans.
      if (round > 0) rates.get(count)?.push(rate);
    }
  }
  const one = rates.get(1) ?? [];
  console.log(`PostgreSQL ${server.version}, ${jobs} jobs, ${rounds} rounds, medians`);
  console.log("| claimers | jobs/s | against 1 |\n|---|---|---|");
  for (const count of claimers) {
    const mine = rates.get(count) ?? [];
    console.log(`| ${count} | ${Math.round(median(mine))} | ${ratio(mine, one)} |`);
  }
} finally {
  await server.close();
}
