import pg from "pg";
import { wantedMajor } from "./binaries.js";
import { startEmbedded } from "./embedded.js";

/** A PostgreSQL to make test databases on. */
export interface TestServer {
  /** A superuser's (or at least a database creator's) connection string. */
  readonly adminUrl: string;
  /** For people: what it is and where it comes from. */
  readonly description: string;
  close(): Promise<void>;
}

/** TEST_DATABASE_URL, or Docker where an engine answers, or the binaries from npm. */
export async function startServer(): Promise<TestServer> {
  const given = process.env["TEST_DATABASE_URL"];
  if (given) return describe(given, "TEST_DATABASE_URL", async () => undefined);

  const container = await startContainer();
  if (container) return container;

  const embedded = await startEmbedded();
  return describe(embedded.url(), "embedded", () => embedded.close());
}

async function startContainer(): Promise<TestServer | undefined> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  try {
    await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
  // From here on a failure is worth hearing of: there is an engine.
  const { PostgreSqlContainer } = await import("@testcontainers/postgresql");
  const container = await new PostgreSqlContainer(`postgres:${wantedMajor()}`)
    .withCommand(["postgres", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200"])
    .start();
  return describe(container.getConnectionUri(), "Docker", async () => {
    await container.stop();
  });
}

async function describe(adminUrl: string, origin: string, close: () => Promise<void>): Promise<TestServer> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>("show server_version");
  await client.end();
  return { adminUrl, description: `PostgreSQL ${rows[0]?.server_version ?? "?"} (${origin})`, close };
}
