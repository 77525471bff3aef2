import { task, type PgStore } from "../../src/index.js";

/** At half past two by the clocks of Berlin, whatever they are set to. */
export const schedule = {
  id: "nightly-report",
  spec: "CRON_TZ=Europe/Berlin 30 2 * * *",
  kind: "report:build",
  payload: { title: "sales" },
  // Where nobody was there at half past two, one report is made as soon as somebody is, however late.
  onMissed: "run_once",
} as const;

/** At each start of the application: the same schedule again changes nothing. */
export async function install(store: PgStore): Promise<void> {
  await store.upsertSchedule(schedule);
}

export function createTasks(store: () => PgStore, print: (line: string) => void) {
  return {
    "report:build": task<{ title: string }>(async ({ title }, job) => {
      // The tick that it is for, not the time at which it runs: a late report is still that of its night.
      const tickMs = (await store().getJob(job.id))?.periodicTickMs ?? job.scheduledAtMs;
      print(`  ${title} of the night of ${inBerlin(tickMs)}, made at ${inBerlin(job.scheduledAtMs)}`);
    }),
  };
}

const inBerlin = (ms: number): string =>
  new Date(ms).toLocaleString("sv-SE", { timeZone: "Europe/Berlin", dateStyle: "short", timeStyle: "short" });
