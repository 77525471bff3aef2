import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
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

/** Runs examples/<name>/main.ts against a database, as `npm run example:<name>` does. */
export function runExample(
  name: string,
  url: string,
  environment: NodeJS.ProcessEnv = {},
  args: readonly string[] = [],
): Example {
  const child = spawn(process.execPath, ["--import", "tsx", `examples/${name}/main.ts`, ...args], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: url, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
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
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      return child.exitCode;
    },
  };
}
