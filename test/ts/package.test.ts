// timeout: 900 s
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../scripts/lib/source.js";
import { testDatabase } from "./support/database.js";

/** What an application developer gets: the packed package, installed in an empty project beside nothing but what it asks for. */
const packaged = suite("the package");
const run = promisify(execFile);

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const folder = await mkdtemp(join(tmpdir(), "headrace-package-"));
const installed = join(folder, "app", "node_modules", "headrace");
let files: string[] = [];
let manifest: Manifest;

/** What git knows, so that nothing lies about that a fresh checkout would not have. */
async function copyTree(target: string): Promise<void> {
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
  });
  for (const file of stdout.split("\0").filter((name) => name && !name.startsWith("node_modules"))) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await cp(join(root, file), join(target, file), { verbatimSymlinks: true }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    });
  }
  await symlink(join(root, "node_modules"), join(target, "node_modules"));
}

packaged.before(async () => {
  const tree = join(folder, "tree");
  await copyTree(tree);
  await run("npm", ["pack", "--pack-destination", folder], { cwd: tree });
  const [tarball = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]);
  files = (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
  // As npm would install them; what these need they find from where they really are.
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(folder, "app", "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", name), link);
  }
});

packaged("holds what it exports, and the SQL that migrate needs", async () => {
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    for (const file of typeof target === "string" ? [target] : Object.values(target)) {
      assert.ok(files.includes(file.slice(2)), `${subpath} leads to ${file}, which is not there`);
    }
  }
  const committed = await readdir(join(root, "sql", "migrations", "committed"));
  assert.ok(committed.length > 0);
  for (const name of committed) assert.ok(files.includes(join("sql", "migrations", "committed", name)), name);
  const command = await readFile(join(installed, manifest.bin["headrace"] ?? ""), "utf8");
  assert.match(command, /^#!\/usr\/bin\/env node\n/);
});

packaged("holds the pages that its README names, but for the examples", async () => {
  const text = await readFile(join(installed, "README.md"), "utf8");
  const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target]) => target!);
  const pages = links.filter((target) => !target.startsWith("examples/"));
  assert.ok(pages.length > 5);
  assert.equal(
    pages.filter((target) => !files.some((file) => file === target || file.startsWith(target))),
    [],
  );
});

packaged("holds nothing else", () => {
  const expected =
    /^(?:dist\/.+\.(?:js|js\.map|d\.ts)|sql\/(?:functions|migrations\/committed)\/.+\.sql|docs\/.+\.md|package\.json|(?:CHANGELOG|README)\.md|LICENSE)$/;
  assert.equal(
    files.filter(
      (file) => !expected.test(file) || /\.test\.|(^|\/)(tests?|fixtures)\/|\.snippets/.test(file),
    ),
    [],
  );
});

/**
 * Compiles a file of the application with strict checks, also of the declarations it imports, and with no types but
 * those that the package brings along.
 */
async function compile(file: string, compilerOptions: Readonly<Record<string, unknown>>): Promise<void> {
  const app = join(folder, "app");
  await writeFile(
    join(app, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2022",
        module: "nodenext",
        moduleResolution: "nodenext",
        strict: true,
        skipLibCheck: false,
        // Of the application, not of this repository.
        typeRoots: [],
        types: [],
        ...compilerOptions,
      },
      files: [file],
    }),
  );
  await run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", app]).catch(
    (error: unknown) => {
      throw new Error(`it does not compile:\n${(error as { stdout: string }).stdout.slice(0, 4000)}`);
    },
  );
}

packaged("compiles strictly and runs in a project of an application", async () => {
  const app = join(folder, "app");
  await writeFile(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  await writeFile(join(app, "app.ts"), application);
  await compile("app.ts", { exactOptionalPropertyTypes: true, outDir: "out" });
  const database = await testDatabase({ installed: false });
  try {
    const environment = { ...process.env, DATABASE_URL: database.url };
    const { stdout } = await run(process.execPath, [join(app, "out", "app.js")], {
      env: environment,
      timeout: 60_000,
    });
    assert.is(stdout, "installed 1\ndone by the test: 42\ndone by the worker: 42\n");
    const cli = await run(
      process.execPath,
      [join(installed, manifest.bin["headrace"] ?? ""), "migrate", "--sql"],
      {
        env: environment,
        maxBuffer: 64 * 1024 * 1024,
      },
    );
    assert.match(cli.stdout, /create or replace function "headrace"\.now_ms/);
  } finally {
    await database.close();
  }
});

packaged("headrace/otel loads with OpenTelemetry and without", async () => {
  const app = join(folder, "app");
  const load = async (): Promise<string> => {
    const script = 'import("headrace/otel").then(({ instrument }) => console.log(typeof instrument))';
    return (await run(process.execPath, ["-e", script], { cwd: app })).stdout;
  };
  assert.is(await load(), "function\n");
  await mkdir(join(app, "node_modules", "@opentelemetry"));
  const peer = ["node_modules", "@opentelemetry", "api"];
  await symlink(join(root, ...peer), join(app, ...peer));
  assert.is(await load(), "function\n");
});

/** Settings under which applications compile; each has other types at hand, or finds them in another way. */
const settings: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "with the types of browsers": {},
  "without the types of browsers": { lib: ["es2022"], noUncheckedIndexedAccess: true },
  "for a bundler": { module: "esnext", moduleResolution: "bundler" },
};
for (const [name, compilerOptions] of Object.entries(settings)) {
  packaged(`every entry point compiles ${name}`, async () => {
    // The optional peer is there by now; the program above compiled before it was.
    const entries = Object.keys(manifest.exports).filter((subpath) => subpath !== "./package.json");
    assert.ok(entries.includes("./otel") && entries.length >= 4, entries.join());
    const lines = entries.map((subpath, n) => {
      const specifier = join("headrace", subpath);
      return `import * as entry${n} from "${specifier}";\nexport type Entry${n} = keyof typeof entry${n};`;
    });
    await writeFile(
      join(folder, "app", "entries.ts"),
      `${lines.join("\n")}
import { Client, PgStore, type Worker } from "headrace";
import { instrument } from "headrace/otel";
export function traced(store: PgStore, worker: Worker): Client {
  instrument(worker);
  return instrument(new Client(store));
}
`,
    );
    await compile("entries.ts", { ...compilerOptions, noEmit: true });
  });
}

const application = `
import { Client, migrate, PgStore, StoreError, task, type EnqueueOptions } from "headrace";
import { Worker, type JobContext, type WorkerOptions } from "headrace/worker";
import { dropTestSchemas, testQueue, type JobRun } from "headrace/testing";

declare const process: { readonly env: Record<string, string> };
declare const console: { log(text: string): void };

const tasks = {
  double: task<{ n: number }, number>(({ n }, job: JobContext) => {
    job.log.info("doubling");
    return 2 * n;
  }),
};
const options: EnqueueOptions = { retention: "1h" };

async function inTest(): Promise<JobRun> {
  await using queue = await testQueue({ url: process.env["DATABASE_URL"]!, tasks });
  // @ts-expect-error wrong payload
  const wrong = () => queue.client.enqueue("double", { n: "21" });
  void wrong;
  return await queue.runJob({ kind: "double", payload: { n: 21 }, options });
}

const { version } = await migrate({ connectionString: process.env["DATABASE_URL"]! });
console.log("installed " + version);
console.log("done by the test: " + (await inTest()).result);
await dropTestSchemas({ url: process.env["DATABASE_URL"]! });

const store = await PgStore.connect(process.env["DATABASE_URL"]!, { listen: true });
const settings: WorkerOptions<typeof tasks> = { tasks };
const worker = new Worker(store, settings);
await worker.start();
try {
  const client = new Client(store, { tasks });
  const { result } = await client.enqueueAndWait("double", { n: 21 });
  console.log("done by the worker: " + result);
} catch (error) {
  if (error instanceof StoreError) console.log(error.code);
  throw error;
}
await worker.stop();
await store.close();
`;

packaged.after(() => rm(folder, { recursive: true, force: true }));
packaged.run();
