import pg from "pg";
import { uncheckedMark } from "../ts/support/database.js";
import { brokenInvariants } from "../ts/support/invariants.js";
import { withDatabase } from "../ts/support/url.js";

/** Checks the databases that a file made, drops them, and answers with what is broken in them. */
export async function settleDatabases(adminUrl: string, prefix: string): Promise<string[]> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  const complaints: string[] = [];
  try {
    const { rows } = await admin.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1) order by datname",
      [prefix],
    );
    for (const { datname } of rows) {
      if (!datname.endsWith(`_${uncheckedMark}`)) {
        complaints.push(...(await check(withDatabase(adminUrl, datname))));
      }
      await admin.query(`drop database ${pg.escapeIdentifier(datname)} with (force)`);
    }
  } finally {
    await admin.end();
  }
  return complaints;
}

async function check(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await brokenInvariants(client);
  } catch (error) {
    return [`verify_invariants failed: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    await client.end();
  }
}
