/** Writes what the installed schema says about itself into docs/sql-api.md. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "../test/ts/support/database.js";
import { root } from "./lib/source.js";
import { readApi, rewrite } from "./lib/sql-api.js";

const page = join(root, "docs", "sql-api.md");
const database = await testDatabase();
try {
  await writeFile(page, rewrite(await readFile(page, "utf8"), await readApi(database.pool, database.schema)));
} finally {
  await database.close();
}
