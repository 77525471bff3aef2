import { opendir, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";

export interface Found {
  readonly path: string;
  /** The folder that it belongs to, and so its partition: a package below node_modules, otherwise the top folder. */
  readonly tenant: string;
}

/** Every regular file under a folder, in no particular order; links are not followed, except one to node_modules. */
export async function* filesUnder(root: string): AsyncGenerator<Found> {
  for await (const path of walk(root)) yield { path, tenant: tenantOf(relative(root, path)) };
  const modules = join(root, "node_modules");
  const real = await realpath(modules).catch(() => modules);
  if (real === modules) return;
  for await (const path of walk(real))
    yield { path, tenant: tenantOf(join("node_modules", relative(real, path))) };
}

async function* walk(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch(() => []);
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && ![".git", ".cache"].includes(entry.name)) yield* walk(path);
  }
}

function tenantOf(path: string): string {
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules");
  const tenant =
    at < 0
      ? parts.length > 1
        ? parts[0]
        : ""
      : parts.slice(at + 1, parts[at + 1]?.startsWith("@") ? at + 3 : at + 2).join("/");
  return Buffer.from(tenant || "(top)")
    .subarray(0, 200)
    .toString()
    .replace(/\uFFFD$/, "");
}
