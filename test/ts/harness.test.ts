import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
const t = suite("x");
t("a", async () => {
  const d = await testDatabase();
  assert.is((await d.query("select 1 as a"))[0]?.a, 1);
  await d.close();
});
t.run();
