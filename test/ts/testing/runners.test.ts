import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../../scripts/lib/source.js";
import { dropTestSchemas } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";

const runners = suite("runners");
const database = await testDatabase({ installed: false });

const file = `
import { afterEach, beforeEach, test } from "node:test";
import { testQueue } from "../../../src/testing/index.js";

let queue;
beforeEach(async () => {
  queue = await testQueue({ url: process.env.DATABASE_URL, tasks: { mail: () => undefined } });
  await queue.client.enqueue("mail", { to: "ada" });
});
afterEach(() => queue.close());

test("holds", () => queue.assertEnqueued({ payload: { to: "ada" } }));
test("does not hold", () => queue.assertEnqueued({ payload: { to: "bob" } }));
test("is not to be there", () => queue.refuteEnqueued());
test("forgets to close", async () => {
  await testQueue({ url: process.env.DATABASE_URL });
});
`;

runners("node's own: what does not hold fails, with its message, and the run comes to its end", async () => {
  const folder = await mkdtemp(join(root, "test", "ts", ".snippets-"));
  try {
    const path = join(folder, "kit.test.mjs");
    await writeFile(path, file);
    const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;
    const [code, output] = await new Promise<[number | null, string]>((resolve) => {
      const options = { env: { ...environment, DATABASE_URL: database.url }, timeout: 60_000 };
      const child = execFile(
        process.execPath,
        ["--import", "tsx", "--test", "--test-reporter=tap", path],
        options,
        (_error, stdout) => resolve([child.exitCode, stdout]),
      );
    });
    assert.is(code, 1, output);
    const results = [...output.matchAll(/^ *((?:not )?ok) \d+ - (.*)$/gm)].map(
      ([, ok, name]) => `${ok} ${name}`,
    );
    assert.equal(results.slice(0, 4), [
      "ok holds",
      "not ok does not hold",
      "not ok is not to be there",
      "ok forgets to close",
    ]);
    assert.match(output, /payload\.to is "ada", not "bob"/);
    assert.match(output, /expected no job to match/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

runners.after(async () => {
  await dropTestSchemas({ url: database.url });
  await database.close();
});
runners.run();
