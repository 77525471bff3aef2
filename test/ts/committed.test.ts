import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readSource } from "../../scripts/lib/source.js";
import { readCommitted } from "../../src/migrate/committed.js";

const committed = suite("committed migrations");

committed("hold the present function files; npm run db:recommit", async () => {
  const { stale, edited, uncommitted } = await readSource();
  assert.equal({ stale, edited, uncommitted }, { stale: [], edited: false, uncommitted: false });
});

committed("hold every function file", async () => {
  assert.equal((await readSource()).unused, []);
});

committed("form a sound chain", async () => {
  assert.ok((await readCommitted()).length > 0);
});

committed.run();
