import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../../scripts/lib/source.js";
import { eventually } from "../support/eventually.js";

export interface Example {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly output: string;
  /** Waits until it says something that fits, and answers with that. */
  says(pattern: RegExp): Promise<string>;
  /** Waits until it has ended; the exit code, or null where a signal ended it. */
  ended(): Promise<number | null>;
}

const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  scripts: Readonly<Record<string, string>>;
};

/** Runs an example as `npm run example:<name>` does; without a url it starts a PostgreSQL of its own. */
export function runExample(name: string, url: string | undefined, args: readonly string[] = []): Example {
  const [command = "", ...rest] = (scripts[`example:${name}`] ?? "").split(" ");
  if (command !== "node") throw new Error(`there is no script example:${name} that runs node`);
  const child = spawn(process.execPath, [...rest, ...args], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Later than its exit: all that it has said has come.
  const closed = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output += data.toString()));
  return {
    child,
    get output() {
      return output;
    },
    async says(pattern) {
      await eventually(`${name} says ${pattern}`, () => {
        if (child.exitCode !== null && !pattern.test(output)) throw new Error(`it has ended:\n${output}`);
        return pattern.test(output);
      });
      return pattern.exec(output)?.[1] ?? "";
    },
    async ended() {
      await closed;
      return child.exitCode;
    },
  };
}
