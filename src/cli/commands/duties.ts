import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PgStore, StoreError } from "../../store/index.js";
import { exitCode, type Command, type Context } from "../command.js";
import { connection } from "../connection.js";
import { onSignals } from "../signals.js";

const help = `Usage: headrace duties [options]

Runs the sweeps of the database: leases that have run out, jobs that fall due, schedules, retention and the like. Workers
do that by themselves; this is for installs whose workers are elsewhere. Any number may run: each sweep has one holder.

  --once           one round, for cron; exits with 1 when a sweep failed
  --schema <name>  the schema (default: $HEADRACE_SCHEMA, or headrace)
  --url <url>      the database (default: $DATABASE_URL, or the PG* variables)
  --help           show this text
`;

export const dutiesCommand: Command = {
  name: "duties",
  summary: "run the sweeps, without any worker",
  help,

  async run(args, context) {
    const { values } = parseArgs({
      args,
      strict: true,
      options: {
        once: { type: "boolean", default: false },
        schema: { type: "string" },
        url: { type: "string" },
      },
    });
    const store = await PgStore.connect(connection(values.url, context.env).connectionString, {
      schema: values.schema ?? context.env["HEADRACE_SCHEMA"] ?? "headrace",
      listen: false,
      maxSize: 1,
    });
    const holder = `duties:${hostname()}:${process.pid}`;
    const stop = new AbortController();
    const unhook = onSignals(() => stop.abort());
    const held = new Set<string>();
    try {
      if (values.once) return (await round(store, holder, held, context)) ? exitCode.ok : exitCode.failed;
      let reachable = true;
      while (!stop.signal.aborted) {
        try {
          await round(store, holder, held, context);
          if (!reachable) context.err("the database can be reached again\n");
          reachable = true;
        } catch (error) {
          if (!(error instanceof StoreError) || !error.retryable) throw error;
          if (reachable) context.err(`${error.message}\n`);
          reachable = false;
        }
        await sleep((reachable ? 1000 : 3000) * (0.8 + 0.4 * Math.random()), undefined, {
          signal: stop.signal,
        }).catch(() => undefined);
      }
      return exitCode.ok;
    } finally {
      unhook();
      await Promise.all([...held].map((name) => store.releaseDuty(name, holder).catch(() => undefined)));
      await store.close();
    }
  },
};

/** Whether no sweep failed. */
async function round(store: PgStore, holder: string, held: Set<string>, context: Context): Promise<boolean> {
  let sound = true;
  for (const name of await store.dutyNames()) {
    for (const { duty, did, error } of await store.runDuties(holder, { duties: [name] })) {
      held.add(duty);
      if (error !== null) context.err(`${duty} failed: ${error}\n`);
      else if (did > 0) context.out(`${duty}: ${did}\n`);
      sound &&= error === null;
    }
  }
  return sound;
}
