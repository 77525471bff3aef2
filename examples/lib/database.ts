import { migrate } from "../../src/index.js";
import { startEmbedded } from "../../test/ts/support/embedded.js";

export interface ExampleDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/** The database of DATABASE_URL, or else a PostgreSQL of its own that is gone afterwards; with Headrace installed. */
export async function openDatabase(): Promise<ExampleDatabase> {
  const given = process.env["DATABASE_URL"];
  if (given) {
    await migrate({ connectionString: given });
    return { url: given, close: async () => undefined };
  }
  console.log("DATABASE_URL is not set; starting a PostgreSQL of its own");
  const server = await startEmbedded();
  await migrate({ connectionString: server.url() });
  return { url: server.url(), close: () => server.close() };
}
