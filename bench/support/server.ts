import pg from "pg";
import { migrate } from "../../src/migrate/index.js";
import { startEmbedded } from "../../test/ts/support/embedded.js";

export interface BenchServer {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly version: string;
  close(): Promise<void>;
}

/** A server with the durability of production, with Headrace installed: `BENCH_DATABASE_URL`, else an embedded one. */
export async function benchServer(): Promise<BenchServer> {
  const given = process.env["BENCH_DATABASE_URL"];
  const server = given
    ? undefined
    : await startEmbedded({
        settings: { fsync: "on", full_page_writes: "on", wal_level: "replica", max_wal_senders: "10" },
      });
  const url = given ?? server!.url();
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  await migrate({ pool, schema: "headrace" });
  const { rows } = await pool.query<{ server_version: string }>("show server_version");
  return {
    url,
    pool,
    version: rows[0]!.server_version,
    async close() {
      await pool.end();
      await server?.close();
    },
  };
}
