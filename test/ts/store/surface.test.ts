import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

/**
 * The list in test/fixtures is the surface that other implementations of this store have, by their names. Each has a method
 * (or property) here, a function in SQL where the database does the work, and a test that calls it.
 */
const surface = suite("the surface of the store");
const database = await testDatabase();
const here = fileURLToPath(new URL("../../", import.meta.url));
const wanted = (await readFile(join(here, "fixtures", "store-methods.txt"), "utf8")).trim().split("\n");

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Overloads that are options here. */
const constructors = new Set(["new", "with_options", "in_schema", "with_options_in_schema"]);
const connects = /^connect/;
/** What no function of the schema does. */
const withoutSql = new Set([
  "begin",
  "begin_tx",
  "commit_tx",
  "rollback_tx",
  "schema",
  "caps",
  "wait_wakeup",
  "with_listen",
]);
const sqlNames: Readonly<Record<string, string>> = {
  enqueue: "enqueue_many",
  enqueue_on: "enqueue_many",
  enqueue_tx: "enqueue_many",
  ack_attempt: "ack",
  ack_attempt_with_actual_weight: "ack",
  checkpoint_tx: "checkpoint",
  complete_tx: "complete",
  complete_tx_with_actual_weight: "complete",
  reindex_concurrently: "reindexable",
};

function methodName(name: string): string {
  if (connects.test(name)) return "connect";
  // `as_notifying()` is the property `notifying`, and so on.
  return camelCase(name.replace(/^as_/, ""));
}

async function testText(): Promise<string> {
  const texts: string[] = [];
  for (const entry of await readdir(here, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && /\.test\.ts$|\.sql$/.test(entry.name) && !path.endsWith("surface.test.ts")) {
      texts.push(await readFile(path, "utf8"));
    }
  }
  return texts.join("\n");
}

surface("has a method for each name", () => {
  assert.ok(wanted.length > 90);
  const store = new PgStore(database.pool, { schema: database.schema });
  const missing = wanted.filter((name) => {
    if (constructors.has(name)) return false;
    const method = methodName(name);
    return method === "connect" ? typeof PgStore.connect !== "function" : !(method in store);
  });
  assert.equal(missing, []);
});

surface("has a function in SQL for each name", async () => {
  const rows = await database.query<{ name: string }>(
    "select proname as name from pg_proc where pronamespace = ':SCHEMA'::regnamespace",
  );
  const functions = new Set(rows.map(({ name }) => name));
  const missing = wanted
    .filter((name) => !constructors.has(name) && !connects.test(name) && !name.startsWith("as_"))
    .filter((name) => !withoutSql.has(name))
    .filter((name) => !functions.has(sqlNames[name] ?? name));
  assert.equal(missing, []);
});

surface("has a test that uses each name", async () => {
  const text = await testText();
  const used = (pattern: string): boolean => new RegExp(pattern).test(text);
  const missing = wanted.filter((name) => {
    if (constructors.has(name)) return !used("new PgStore\\(");
    const method = methodName(name);
    const property = name.startsWith("as_") || ["schema", "caps"].includes(name);
    return !used(property ? `\\.${method}\\b` : `\\.${method}\\(`);
  });
  assert.equal(missing, []);
});

surface.after(() => database.close());
surface.run();
