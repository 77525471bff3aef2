import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "../support/database.js";
import { runExample } from "./support.js";

const steps = suite("example steps");
const database = await testDatabase({ installed: false });

for (const deaths of ["charged,shipped", "while charging,charged"]) {
  steps(`killed when ${deaths}: each step exactly once, in order`, async () => {
    const example = runExample("steps", database.url, [deaths]);
    try {
      assert.is(await example.ended(), 0, example.output);
      const [first, second] = deaths.split(",");
      assert.equal(
        [...example.output.matchAll(/worker \d+ dies: (.*)/g)].map(([, moment]) => moment),
        [first, second],
      );
      assert.match(
        example.output,
        /after 2 workers have died of it:\n {2}charge\n {2}ship\n {2}mail ada@example\.org about parcel-[0-9a-f]{8}\n$/,
      );
    } finally {
      example.child.kill("SIGKILL");
    }
  });
}

steps.after(() => database.close());
steps.run();
