import { readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folderPrefix = "headrace-pg-";
export const ownerFile = "owner.json";

/** When a process started, so that a pid which was given away again is not taken for its first owner. */
export async function processStart(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  // The name in parentheses may hold blanks; field 22 counts from behind it.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

/**
 * Removes servers whose owner is gone. Their supervisor does that at once; this is for when both were killed.
 * Servers of other runs are left alone.
 */
export async function removeLeftovers(): Promise<void> {
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(folderPrefix));
  for (const folder of folders.map((name) => join(tmpdir(), name))) {
    if (await hasOwner(folder)) continue;
    const pid = await postmasterOf(join(folder, "data"));
    if (pid !== undefined) process.kill(pid, "SIGQUIT");
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
  }
}

async function hasOwner(folder: string): Promise<boolean> {
  try {
    const { pid, start } = JSON.parse(await readFile(join(folder, ownerFile), "utf8")) as {
      pid: number;
      start: string | null;
    };
    process.kill(pid, 0);
    return start === (await processStart(pid));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Not ours to judge, or just being made: the owner file is the first thing that is written.
    if (code === "EACCES" || code === "EPERM") return true;
    if (code !== "ESRCH") return (await age(folder)) < 60_000;
    return false;
  }
}

async function age(folder: string): Promise<number> {
  return stat(folder).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  );
}

/** Only a process that stands in this very folder is the server that was left behind. */
async function postmasterOf(data: string): Promise<number | undefined> {
  const pid = Number((await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")[0]);
  if (!pid) return undefined;
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return cwd === data ? pid : undefined;
}
