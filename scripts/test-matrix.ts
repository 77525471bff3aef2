/** Runs the tests on every PostgreSQL that we support, one after another, and adds up. Arguments go to each run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { majors } from "../test/ts/support/binaries.js";
import { root } from "./lib/source.js";

let passed = 0;
let failed = 0;
for (const major of majors) {
  console.log(`\nPostgreSQL ${major}`);
  const child = spawn(
    process.execPath,
    ["--import", "tsx", join(root, "test", "run.ts"), ...process.argv.slice(2)],
    {
      cwd: root,
      env: { ...process.env, HEADRACE_TEST_PG: String(major) },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let output = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
    process.stdout.write(data);
  });
  await once(child, "close");
  const totals = /^(\d+) passed, (\d+) failed\n*$/m.exec(output.trimEnd().split("\n").at(-1) ?? "");
  passed += Number(totals?.[1] ?? 0);
  // A run that did not get to its last line failed.
  failed += Number(totals?.[2] ?? 1);
}
console.log(`\nPostgreSQL ${majors.join(", ")}:`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
