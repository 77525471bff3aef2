import { parseArgs } from "node:util";
import { PgStore } from "../../store/index.js";
import { jsonLogger, Worker, type LogLevel } from "../../worker/index.js";
import { exitCode, UsageError, type Command } from "../command.js";
import { connection } from "../connection.js";
import { loadTasks } from "../load-tasks.js";
import { onSignals } from "../signals.js";

const help = `Usage: headrace work --tasks <folder> [options]

Runs jobs. Each module in the folder is a task: it exports a handler (or a task) as its default and is named after its
kind, or it exports kind and handler. email/welcome.js is the kind email:welcome.

  --tasks <folder>     where the task modules are
  --queue <name>       a queue to claim from; may be given several times (default: default)
  --concurrency <n>    jobs at the same time (default: 16)
  --lease <duration>   how long a claim lasts without renewal, such as 30s (default: 30s)
  --grace <duration>   how long handlers may finish when the worker stops (default: 25s)
  --worker-id <name>   names the worker (default: host, process and a random part)
  --guard              on an error that nobody caught, let what runs finish for the time of --grace, then exit with 1
  --no-duties          leave the sweeps to others
  --no-listen          poll only, as behind a pooler in transaction mode
  --log <level>        debug, info, warn, error or silent (default: info); JSON lines on stderr
  --pool <n>           connections at most (default: 10)
  --schema <name>      the schema (default: $HEADRACE_SCHEMA, or headrace)
  --url <url>          the database (default: $DATABASE_URL, or the PG* variables)
  --help               show this text

The first SIGTERM or SIGINT stops it gently: no new claims, what runs may finish, the rest is handed back unharmed. A
second one hands everything back at once. Exits with 0, or with 4 when it was asked to restart (headrace.signal_worker).
`;

export const workCommand: Command = {
  name: "work",
  summary: "run jobs with the tasks of a folder",
  help,

  async run(args, context) {
    const { values } = parseArgs({
      args,
      strict: true,
      allowNegative: true,
      options: {
        tasks: { type: "string" },
        queue: { type: "string", multiple: true },
        concurrency: { type: "string" },
        lease: { type: "string" },
        grace: { type: "string" },
        "worker-id": { type: "string" },
        duties: { type: "boolean", default: true },
        guard: { type: "boolean", default: false },
        listen: { type: "boolean", default: true },
        log: { type: "string", default: "info" },
        pool: { type: "string" },
        schema: { type: "string" },
        url: { type: "string" },
      },
    });
    if (values.tasks === undefined) throw new UsageError("--tasks is missing");
    if (!["debug", "info", "warn", "error", "silent"].includes(values.log)) {
      throw new UsageError(`--log takes debug, info, warn, error or silent, not ${values.log}`);
    }
    const tasks = await loadTasks(values.tasks);
    const store = await PgStore.connect(connection(values.url, context.env).connectionString, {
      schema: values.schema ?? context.env["HEADRACE_SCHEMA"] ?? "headrace",
      listen: values.listen,
      maxSize: count("--pool", values.pool) ?? 10,
    });
    try {
      const worker = makeWorker();
      await worker.start();
      const unhook = onSignals((times) => {
        context.err(
          times === 1 ? "stopping: what runs may finish\n" : "stopping now: what runs is handed back\n",
        );
        void worker.stop({ mode: times === 1 ? "drain" : "abort" });
      });
      context.out(`worker ${worker.workerId} runs ${Object.keys(tasks).join(", ")}\n`);
      const reason = await worker.stopped();
      unhook();
      context.out(`worker ${worker.workerId} has stopped (${reason})\n`);
      if (reason === "fault") return exitCode.failed;
      return reason === "restart" || reason === "memory" ? exitCode.restart : exitCode.ok;
    } finally {
      await store.close();
    }

    function makeWorker(): Worker {
      try {
        return new Worker(store, {
          tasks,
          queues: values.queue ?? ["default"],
          duties: values.duties,
          guard: values.guard,
          wakeups: values.listen,
          logger: jsonLogger(values.log as LogLevel, (line) => context.err(`${line}\n`)),
          ...optional("concurrency", count("--concurrency", values.concurrency)),
          ...optional("lease", values.lease),
          ...optional("shutdownGrace", values.grace),
          ...optional("workerId", values["worker-id"]),
        });
      } catch (error) {
        if (error instanceof RangeError) throw new UsageError(error.message);
        throw error;
      }
    }
  },
};

const optional = <Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { [K in Name]?: Value } => (value === undefined ? {} : ({ [name]: value } as { [K in Name]: Value }));

function count(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new UsageError(`${name} takes a whole number >= 1, not ${text}`);
  return number;
}
