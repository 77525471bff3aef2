import { readdir, readFile } from "node:fs/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PostgresQueueBackend } from "../../../src/index.js";

const here = new URL("./", import.meta.url);
const methods = suite("backend methods");
/** What a queue backend has to offer. */
const names = (await readFile(new URL("methods.txt", here), "utf8")).trim().split("\n");
const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

methods("each has a function, a method and a test", async () => {
  assert.is(names.length, 27);
  const functions = await readdir(new URL("../../../sql/functions/backend/", here));
  let tests = "";
  for (const file of await readdir(here)) {
    if (file.endsWith(".test.ts")) tests += await readFile(new URL(file, here), "utf8");
  }
  const missing: string[] = [];
  for (const name of names) {
    if (!functions.includes(`backend_${name}.sql`)) missing.push(`function of ${name}`);
    const method: unknown = Reflect.get(PostgresQueueBackend.prototype, camel(name));
    if (typeof method !== "function") missing.push(`method of ${name}`);
    if (!tests.includes(`.${camel(name)}(`)) missing.push(`test of ${name}`);
  }
  assert.equal(missing, []);
  for (const name of ["connect", "connectIsolated", "fromPool"])
    assert.type(Reflect.get(PostgresQueueBackend, name), "function");
  assert.ok(Object.getOwnPropertyDescriptor(PostgresQueueBackend.prototype, "pool")?.get);
});

methods("each is one call of its function", async () => {
  const home = new URL("../../../src/backend/", here);
  const files = await readdir(home);
  const source = (await Promise.all(files.map((file) => readFile(new URL(file, home), "utf8")))).join("\n");
  for (const name of names) {
    assert.is(source.split(`"backend_${name}"`).length - 1, 1, name);
  }
});

methods.run();
