/** The database that a command talks to: its `--url`, DATABASE_URL, or (left to the driver) the PG* variables. */
export function connection(url: string | undefined, env: NodeJS.ProcessEnv): { connectionString?: string } {
  const connectionString = url ?? env["DATABASE_URL"];
  return connectionString ? { connectionString } : {};
}
