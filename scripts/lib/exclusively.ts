import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processStart } from "../../test/ts/support/leftovers.js";
import { root } from "./source.js";

/** Runs `work` while no other process of this checkout runs the same; waits for its turn. */
export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  await mkdir(join(root, ".cache"), { recursive: true });
  const file = join(root, ".cache", `${name}.lock`);
  const me = JSON.stringify({ pid: process.pid, start: await processStart(process.pid) });
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
    if (holder !== "" && !(await lives(holder))) await rm(file, { force: true });
    return false;
  }
}

/** A holder that was killed leaves its file behind. */
async function lives(holder: string): Promise<boolean> {
  try {
    const { pid, start } = JSON.parse(holder) as { pid: number; start: string | null };
    process.kill(pid, 0);
    return start === (await processStart(pid));
  } catch {
    return false;
  }
}
