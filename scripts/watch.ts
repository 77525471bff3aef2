/**
 * Installs the SQL anew whenever a file under sql/ changes, on a server of its own, and says where it fails.
 * The last version that installed stays in the database `dev`, whose address is printed.
 */
import { watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbedded } from "../test/ts/support/embedded.js";
import { admin, makeTemplate } from "../test/ts/support/template.js";
import { root } from "./lib/source.js";

const server = await startEmbedded();
console.log(`server: ${server.url("dev")}`);

async function install(): Promise<void> {
  const begun = Date.now();
  await admin(server.url(), "drop database if exists dev_next with (force)");
  await makeTemplate(server.url(), "dev_next", (text) => console.log(`note: ${text}`));
  await admin(server.url(), "drop database if exists dev with (force)");
  await admin(server.url(), "alter database dev_next rename to dev");
  console.log(`${new Date().toLocaleTimeString()} installed in ${Date.now() - begun} ms`);
}

let changed = true;
let wake = (): void => undefined;
watch(join(root, "sql"), { recursive: true }, () => {
  changed = true;
  wake();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void server.close().then(() => process.exit(0)));
}
for (;;) {
  if (!changed) await new Promise<void>((resolve) => (wake = resolve));
  // Editors write in several steps, and so do branches.
  await sleep(100);
  changed = false;
  await install().catch((error: unknown) => console.log(error instanceof Error ? error.message : error));
}
