import { readFileSync } from "node:fs";
import { MigrationError } from "../migrate/index.js";
import { exitCode, UsageError, type Command, type Context } from "./command.js";
import { dutiesCommand } from "./commands/duties.js";
import { migrateCommand } from "./commands/migrate.js";
import { workCommand } from "./commands/work.js";

const commands: readonly Command[] = [migrateCommand, workCommand, dutiesCommand];

/** Runs one command line and answers with its exit code. Never ends the process, so tests can call it. */
export async function run(argv: readonly string[], context: Context): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const topic = name === "help" ? commands.find((command) => command.name === args[0]) : undefined;
    context.out(topic?.help ?? overview());
    return name === undefined ? exitCode.usage : exitCode.ok;
  }
  if (name === "--version" || name === "version") {
    context.out(`${packageVersion()}\n`);
    return exitCode.ok;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (!command) {
    context.err(`headrace: unknown command "${name}"; see headrace --help\n`);
    return exitCode.usage;
  }
  if (args.includes("--help") || args.includes("-h")) {
    context.out(command.help);
    return exitCode.ok;
  }
  try {
    return await command.run(args, context);
  } catch (error) {
    const code = explain(command, error, context);
    const named =
      args.some((arg) => arg.startsWith("--url")) || databaseVariables.some((key) => context.env[key]);
    if (!named && /\bE(?:CONNREFUSED|NOENT|NOTFOUND)\b/.test(describe(error)))
      context.err("no database was named: set DATABASE_URL, or pass --url\n");
    return code;
  }
}

const databaseVariables = ["DATABASE_URL", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER"];

function explain(command: Command, error: unknown, context: Context): number {
  const message = describe(error);
  context.err(`headrace ${command.name}: ${message}\n`);
  if (error instanceof UsageError || isParseArgsError(error)) {
    context.err(`see headrace ${command.name} --help\n`);
    return exitCode.usage;
  }
  if (error instanceof MigrationError && error.differences.length > 0) return exitCode.mismatch;
  return exitCode.failed;
}

/** A refused connection to a name with several addresses is an AggregateError without a message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(describe).join("; ");
  return error instanceof Error ? error.message : String(error);
}

function isParseArgsError(error: unknown): boolean {
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

function packageVersion(): string {
  // The same place from the sources and from what is built.
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

function overview(): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const list = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`).join("\n");
  return `Usage: headrace <command> [options]

${list}

headrace <command> --help explains one of them, headrace --version tells the version.

Exit codes: 0 done; 1 failed; 2 wrong command line; 3 installed schema and package do not match;
4 the worker was asked to restart.
`;
}
