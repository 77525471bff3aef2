import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identify, lives, type ProcessIdentity } from "../../test/ts/support/leftovers.js";
import { root } from "./source.js";

/** Runs `work` while no other process of this checkout runs the same; waits for its turn. */
export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  await mkdir(join(root, ".cache"), { recursive: true });
  const file = join(root, ".cache", `${name}.lock`);
  const me = JSON.stringify(await identify(process.pid));
  while (!(await take(file, me))) await sleep(50);
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(file: string, me: string): Promise<boolean> {
  try {
    await writeFile(file, me, { flag: "wx" });
    return true;
  } catch {
    const holder = await readFile(file, "utf8").catch(() => "");
    // A holder that was killed leaves its file behind. An empty one is being written.
    if (holder !== "" && !(await lives(JSON.parse(holder) as ProcessIdentity)))
      await rm(file, { force: true });
    return false;
  }
}
