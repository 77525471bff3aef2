/** Exit codes of every command; `headrace --help` lists them. */
export const exitCode = {
  ok: 0,
  /** The command could not do its work. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** Installed schema and package disagree, or are not at the same version. */
  mismatch: 3,
  /** The worker was asked to restart: start it again. */
  restart: 4,
} as const;

/** A mistake in the command line; printed without a stack. */
export class UsageError extends Error {}

/** What a command may touch, so that a test can call it in its own process. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  out(text: string): void;
  err(text: string): void;
}

/** One verb of the command line; each has a file of its own in commands/. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole help text. */
  readonly help: string;
  run(args: string[], context: Context): Promise<number>;
}
