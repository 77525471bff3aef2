import { UsageError } from "./command.js";

/**
 * The database that a command talks to: its `--url`, DATABASE_URL, or (left to the driver) the PG* variables.
 * @throws UsageError for what is no URL.
 */
export function connection(url: string | undefined, env: NodeJS.ProcessEnv): { connectionString?: string } {
  const connectionString = url ?? env["DATABASE_URL"];
  if (connectionString && !/^(?:[a-z][a-z0-9+.-]*:\/\/|socket:|\/)/i.test(connectionString)) {
    // Not shown: it may hold a password.
    const source = url === undefined ? "DATABASE_URL" : "--url";
    throw new UsageError(`${source} must look like postgres://user@host:5432/database`);
  }
  return connectionString ? { connectionString } : {};
}
