import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseMigrationText } from "../../src/migrate/committed.js";
import { foldIncludes, root } from "./source.js";

const git = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)("git", args, { cwd: root, maxBuffer: 1 << 28 })).stdout;

/**
 * Merges committed migrations that git left in conflict. Both sides were generated, so the text of functions and the
 * hash are of no interest; what is merged is what was written by hand: tables, and which files are included.
 * Answers with the files in which somebody must decide.
 */
export async function mergeCommitted(): Promise<string[]> {
  const unmerged = await git("ls-files", "--unmerged", "-z", "--", "sql/migrations/committed").catch(
    () => "",
  );
  const paths = new Set(unmerged.split("\0").flatMap((entry) => entry.split("\t")[1] ?? []));
  const undecided: string[] = [];
  for (const path of paths) {
    // By hand already, or by an earlier call.
    if (!/^<{7} /m.test(await readFile(join(root, path), "utf8").catch(() => ""))) continue;
    const [base, ours, theirs] = await Promise.all([1, 2, 3].map((stage) => side(path, stage)));
    const { text, clean } = await merge(ours?.body ?? "", base?.body ?? "", theirs?.body ?? "");
    await writeFile(join(root, path), `${ours?.header ?? ""}\n\n${text}`);
    if (!clean) undecided.push(path);
  }
  return undecided;
}

async function side(path: string, stage: number): Promise<{ header: string; body: string }> {
  const text = await git("show", `:${stage}:${path}`).catch(() => "");
  const { headers, body } = parseMigrationText(text);
  const header = [...headers].map(([name, value]) => `--! ${name}: ${value}`).join("\n");
  return { header, body: foldIncludes(body) };
}

async function merge(ours: string, base: string, theirs: string): Promise<{ text: string; clean: boolean }> {
  const folder = await mkdtemp(join(tmpdir(), "headrace-merge-"));
  try {
    const files = ["ours", "base", "theirs"].map((name) => join(folder, name));
    for (const [at, text] of [ours, base, theirs].entries()) await writeFile(files[at] ?? "", text);
    // It ends with the number of conflicts, which is no failure.
    const merged = await git("merge-file", "-p", ...files).catch((error: { stdout: string }) => error.stdout);
    const text = merged.replace(/^<{7} .*\n([\s\S]*?)^={7}\n([\s\S]*?)^>{7} .*\n/gm, unite);
    return { text, clean: !/^<{7} /m.test(text) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Two lists of files to include are both wanted. */
function unite(conflict: string, ours: string, theirs: string): string {
  const lines = `${ours}${theirs}`.split("\n").filter((line) => line !== "");
  if (!lines.every((line) => line.startsWith("--!include "))) return conflict;
  return [...new Set(lines)].map((line) => `${line}\n`).join("");
}
