import { parseArgs } from "node:util";
import { compileSql, migrate, status, type InvalidIndex, type MigrationStatus } from "../../migrate/index.js";
import { exitCode, UsageError, type Command, type Context } from "../command.js";
import { connection } from "../connection.js";

const help = `Usage: headrace migrate [options]

Brings a schema up to the migrations of this package. Safe to run anywhere, any number of times, and by several
processes at once.

  --schema <name>   the schema (default: $HEADRACE_SCHEMA, or headrace)
  --url <url>       the database (default: $DATABASE_URL, or the PG* variables)
  --dry-run         say what would be installed and do nothing
  --status          say what is installed; exits with 3 when something is pending or differs
                    or, as without it, when an index is not valid
  --sql             print the SQL instead of running it; needs no database
  --from <version>  with --sql: only the migrations after this version
  --help            show this text
`;

export const migrateCommand: Command = {
  name: "migrate",
  summary: "install or upgrade the schema",
  help,

  async run(args, context) {
    const { values } = parseArgs({
      args,
      strict: true,
      options: {
        schema: { type: "string" },
        url: { type: "string" },
        "dry-run": { type: "boolean", default: false },
        status: { type: "boolean", default: false },
        sql: { type: "boolean", default: false },
        from: { type: "string" },
      },
    });
    const schema = values.schema ?? context.env["HEADRACE_SCHEMA"] ?? "headrace";
    if (Number(values.sql) + Number(values.status) + Number(values["dry-run"]) > 1) {
      throw new UsageError("--sql, --status and --dry-run exclude each other");
    }
    if (values.from !== undefined && !values.sql) throw new UsageError("--from needs --sql");

    if (values.sql) {
      const from = Number(values.from ?? 0);
      if (!Number.isSafeInteger(from) || from < 0) throw new UsageError("--from takes a version number");
      context.out(await compileSql({ schema, from }));
      return exitCode.ok;
    }
    const where = connection(values.url, context.env);
    if (values.status) return report(await status({ ...where, schema }), context);

    const dryRun = values["dry-run"];
    const result = await migrate({ ...where, schema, dryRun });
    for (const { filename } of result.applied) {
      context.out(`${dryRun ? "would install" : "installed"} ${filename}\n`);
    }
    const newer = result.ahead ? ", newer than this package" : "";
    context.out(`schema ${schema} is at version ${result.version}${newer}\n`);
    return reportIndexes(result.invalidIndexes, context) ? exitCode.ok : exitCode.mismatch;
  },
};

function report(found: MigrationStatus, context: Context): number {
  context.out(
    `schema ${found.schema}: version ${found.version} installed, this package brings ${found.shipped}\n`,
  );
  for (const { version, name, hash, appliedAt } of found.applied) {
    context.out(`  ${version} ${name} ${appliedAt.toISOString()} ${hash ?? "(hash not recorded)"}\n`);
  }
  for (const filename of found.pending) context.out(`pending: ${filename}\n`);
  for (const difference of found.differences) context.out(`differs: ${difference}\n`);
  const sound = reportIndexes(found.invalidIndexes, context);
  return found.pending.length + found.differences.length > 0 || !sound ? exitCode.mismatch : exitCode.ok;
}

/** False: one of them is not only what a rebuild has left. */
function reportIndexes(invalid: readonly InvalidIndex[], context: Context): boolean {
  for (const { name, leftover } of invalid) {
    context.err(
      leftover
        ? `note: index ${name} is what a rebuild has left or is making; the next rebuild clears it up\n`
        : `index ${name} is not valid: rebuild it (reindexConcurrently, or the statements of reindexable('${name}'))\n`,
    );
  }
  return invalid.every(({ leftover }) => leftover);
}
