import { readdir } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "./command.js";

const moduleFile = /^(?!.*\.d\.[cm]?ts$).*\.[cm]?[jt]s$/;

/**
 * The tasks of a folder, by kind. Each module exports a handler or a task as its default and is named after its kind
 * (`email/welcome.js` is `email:welcome`), or exports `kind` and `handler`.
 *
 * @throws UsageError where the folder or a module is not like that.
 */
export async function loadTasks(folder: string): Promise<Record<string, object>> {
  const root = resolve(folder);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new UsageError(
      `can't read the folder of tasks: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  const files = entries
    .filter(
      (entry) => entry.isFile() && moduleFile.test(entry.name) && !entry.parentPath.includes("node_modules"),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  // A map: a kind may have the name of something that every object has.
  const tasks = new Map<string, object>();
  for (const file of files) {
    const { kind, task } = await loadTask(root, file);
    if (tasks.has(kind))
      throw new UsageError(`two modules are tasks of the kind ${kind}; the second is ${file}`);
    tasks.set(kind, task);
  }
  if (files.length === 0) throw new UsageError(`there is no task module in ${root}`);
  return Object.fromEntries(tasks);
}

async function loadTask(root: string, file: string): Promise<{ kind: string; task: object }> {
  let loaded: Record<string, unknown>;
  try {
    loaded = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const loader = (error as NodeJS.ErrnoException | null)?.code === "ERR_UNKNOWN_FILE_EXTENSION";
    const hint = loader ? '; this Node needs a loader for TypeScript: NODE_OPTIONS="--import tsx"' : "";
    throw new Error(`${file} can't be loaded: ${reason}${hint}`, { cause: error });
  }
  // A CommonJS module comes as the default export of its namespace.
  const inner = loaded["default"];
  const source = isModule(loaded) ? loaded : isModule(inner) ? inner : undefined;
  const kind = source?.["kind"] ?? kindOf(root, file);
  const task = source?.["handler"] ?? inner;
  if (typeof kind !== "string") throw new UsageError(`${file} exports a kind that is no text`);
  if (typeof task !== "function" && (typeof task !== "object" || task === null)) {
    throw new UsageError(`${file} must export a handler or a task as its default, or kind and handler`);
  }
  return { kind, task };
}

const isModule = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && "handler" in value && "kind" in value;

const kindOf = (root: string, file: string): string =>
  relative(root, file)
    .replace(/\.[cm]?[jt]s$/, "")
    .split(sep)
    .join(":");
