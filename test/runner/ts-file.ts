import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { FileResult } from "./result.js";

const defaultTimeoutSeconds = 120;

/** Runs one uvu file in a process of its own, so that a leaked handle or a crash stays with it. */
export async function runTsFile(file: string, environment: Record<string, string>): Promise<FileResult> {
  const begun = Date.now();
  const timeoutMs = (await timeoutSeconds(file)) * 1000;
  const child = spawn(process.execPath, ["--import", "tsx", file], {
    env: { ...process.env, ...environment, FORCE_COLOR: "0" },
    stdio: ["ignore", "pipe", "pipe"],
    // Its own group, so that the processes it starts go with it.
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const kill = (): void => killGroup(child.pid);
  running.add(kill);
  let late = false;
  const watchdog = setTimeout(() => {
    late = true;
    kill();
  }, timeoutMs);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(watchdog);
  kill();
  running.delete(kill);

  const { total, passed } = uvuTotals(output);
  let failed = total - passed;
  if (late) {
    failed = Math.max(1, failed);
    output += `\nstopped after ${timeoutMs / 1000} s (a leaked handle keeps a file running, too)\n`;
  } else if (code !== 0 && failed === 0) {
    failed = 1;
    output += `\nended with code ${code ?? "none (killed)"}\n`;
  } else if (total === 0) {
    failed = 1;
    output += "\nran no test; is .run() missing?\n";
  }
  return { file, passed, failed, milliseconds: Date.now() - begun, output };
}

/** A file that needs longer says so: `// timeout: 300 s`. */
async function timeoutSeconds(file: string): Promise<number> {
  const text = await readFile(file, "utf8");
  const seconds = Number(/^\/\/ timeout: (\d+) s$/m.exec(text)?.[1] ?? defaultTimeoutSeconds);
  return seconds * Number(process.env["HEADRACE_TEST_PATIENCE"] ?? 1);
}

function uvuTotals(output: string): { total: number; passed: number } {
  // eslint-disable-next-line no-control-regex
  const plain = output.replace(/\u001b\[[0-9;]*m/g, "");
  const last = (label: string): number =>
    Number([...plain.matchAll(new RegExp(`^ +${label}: +(\\d+)$`, "gm"))].at(-1)?.[1] ?? 0);
  return { total: last("Total"), passed: last("Passed") };
}

const running = new Set<() => void>();

/** For the end of the runner itself. */
export function killRunning(): void {
  for (const kill of running) kill();
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}
