import { readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folderPrefix = "headrace-pg-";
export const ownerFile = "owner.json";

/** A process, so that a pid which was given away again, or means another in another container, is not mistaken. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string | null;
  readonly namespace: string | null;
}

export async function identify(pid: number): Promise<ProcessIdentity> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  // The name in parentheses may hold blanks; field 22 counts from behind it.
  const start = text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  return { pid, start, namespace: await readlink("/proc/self/ns/pid").catch(() => null) };
}

/** Whether it still runs; one that can't be seen from here is taken to. */
export async function lives({ pid, start, namespace }: ProcessIdentity): Promise<boolean> {
  const now = await identify(pid);
  if (namespace !== now.namespace) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return start === now.start;
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
  const text = await readFile(join(folder, ownerFile), "utf8").catch((error: NodeJS.ErrnoException) => error);
  // Of another user; not ours to judge.
  if (text instanceof Error && text.code !== "ENOENT") return true;
  try {
    return await lives(JSON.parse(String(text)) as ProcessIdentity);
  } catch {
    // Just being made: the owner file is the first thing that is written.
    return (await age(folder)) < 60_000;
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
