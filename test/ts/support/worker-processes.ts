import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../../scripts/lib/source.js";

export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** What it has written to stderr: its log, a JSON object a line, and what handlers said. */
  errors(): string;
  /** Resolves with its exit code; null where a signal ended it. */
  ended(): Promise<number | null>;
}

export interface WorkerProcesses {
  /** Starts `headrace work` with these arguments and resolves when it says that it runs, or has ended. */
  work(...args: string[]): Promise<WorkerProcess>;
  close(): Promise<void>;
}

/**
 * Processes of `headrace work`, which run the task modules given by file name.
 *
 * @param nodeArguments for node itself.
 */
export async function workerProcesses(options: {
  readonly url: string;
  readonly schema: string;
  readonly tasks: Readonly<Record<string, string>>;
  readonly nodeArguments?: readonly string[];
}): Promise<WorkerProcesses> {
  const folder = await mkdtemp(join(tmpdir(), "headrace-tasks-"));
  for (const [file, text] of Object.entries(options.tasks)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  const children: ChildProcess[] = [];
  return {
    async work(...args) {
      const child = spawn(
        process.execPath,
        // prettier-ignore
        [...(options.nodeArguments ?? []), "--import", "tsx", "src/cli/main.ts", "work",
          "--tasks", folder, "--schema", options.schema, ...args],
        { cwd: root, env: { ...process.env, DATABASE_URL: options.url }, stdio: ["ignore", "pipe", "pipe"] },
      );
      children.push(child);
      let errors = "";
      child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
      // A poison may kill it before it has said anything.
      await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
      return {
        child,
        pid: child.pid ?? 0,
        errors: () => errors,
        async ended() {
          if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
          return child.exitCode;
        },
      };
    },
    async close() {
      for (const child of children) {
        child.kill("SIGCONT");
        child.kill("SIGKILL");
      }
      await rm(folder, { recursive: true });
    },
  };
}
