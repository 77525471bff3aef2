import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commit, Logger, uncommit, type Settings } from "graphile-migrate";
import pg from "pg";
import { migrationHash, parseMigrationText } from "../../src/migrate/committed.js";
import { startEmbedded } from "../../test/ts/support/embedded.js";
import { functionsFolder, isBlank, migrationsFolder, root } from "./source.js";

export interface Authoring {
  /** Commits current.sql, rehearsing it on a shadow database. */
  readonly commit: (message?: string) => Promise<void>;
  /** Takes the last committed migration back into current.sql. */
  readonly uncommit: () => Promise<void>;
}

const committedIn = (folder: string): string => join(folder, "committed");
const currentIn = (folder: string): string => join(folder, "current.sql");

/**
 * Lends graphile-migrate a server and a copy of sql/migrations, and takes the result back when `work` succeeded.
 * It deletes and rewrites files as it goes, and what it leaves after a failure can't be committed again: so not in place.
 */
export async function authoring(work: (tools: Authoring) => Promise<void>): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "headrace-authoring-"));
  const server = await startEmbedded();
  try {
    await copyIn(scratch);
    await query(server.url(), "create database authoring");
    const settings = await settingsFor(scratch, (database) => server.url(database));
    await work({
      commit: (message) => commit(settings, message ?? "initial"),
      async uncommit() {
        await rehash(scratch);
        // It wants to forget the migration in a ledger which on a new server is not there.
        await query(server.url("authoring"), graphileLedger);
        await uncommit(settings);
        await query(server.url("authoring"), "drop schema graphile_migrate cascade");
      },
    });
    await copyBack(scratch);
  } finally {
    // It keeps its pools for 200 ms, and ends the process when one of their connections breaks.
    await sleep(300);
    await server.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

const graphileLedger = `
  create schema graphile_migrate;
  create table graphile_migrate.migrations (
    hash text primary key, previous_hash text, filename text not null, date timestamptz not null default now());
  create table graphile_migrate.current (
    filename text primary key default 'current.sql', content text not null, date timestamptz not null default now());
`;

async function settingsFor(folder: string, url: (database: string) => string): Promise<Settings> {
  // json5 comes with graphile-migrate, which reads .gmrc with it.
  const require = createRequire(createRequire(import.meta.url).resolve("graphile-migrate"));
  const json5 = require("json5") as { parse(text: string): Settings };
  return {
    ...json5.parse(await readFile(join(root, ".gmrc"), "utf8")),
    migrationsFolder: folder,
    connectionString: url("authoring"),
    shadowConnectionString: url("authoring_shadow"),
    rootConnectionString: url("postgres"),
    logger: new Logger(() => (level, message) => {
      if (/^(error|warning)$/.test(String(level))) console.error(message);
    }),
  };
}

async function copyIn(scratch: string): Promise<void> {
  await mkdir(committedIn(scratch));
  await cp(committedIn(migrationsFolder), committedIn(scratch), { recursive: true }).catch(() => undefined);
  await cp(currentIn(migrationsFolder), currentIn(scratch));
  await cp(join(migrationsFolder, "schema.sql"), join(scratch, "schema.sql"));
  await symlink(functionsFolder, join(scratch, "fixtures"));
}

/** Lets the last committed file be edited by hand: its hash is made again before anybody looks at it. */
async function rehash(scratch: string): Promise<void> {
  const name = (await readdir(committedIn(scratch))).sort().at(-1);
  if (name === undefined) throw new Error("nothing is committed");
  const file = join(committedIn(scratch), name);
  const text = await readFile(file, "utf8");
  const { headers, body } = parseMigrationText(text);
  const previous = headers.get("Previous");
  const hash = migrationHash(body, previous === "-" || previous === undefined ? null : previous);
  await rm(file);
  await writeFile(file, text.replace(/^--! Hash: .*$/m, `--! Hash: ${hash}`));
}

/** Whole files at a time, so that whoever reads meanwhile finds the old text or the new. */
async function copyBack(scratch: string): Promise<void> {
  const target = committedIn(migrationsFolder);
  await mkdir(target, { recursive: true });
  const made = await readdir(committedIn(scratch));
  for (const name of made) await replace(join(committedIn(scratch), name), join(target, name));
  for (const name of await readdir(target)) {
    if (name.endsWith(".sql") && !made.includes(name)) {
      await rm(join(target, name));
      console.log(`removed committed/${name}`);
    }
  }
  await replace(currentIn(scratch), currentIn(migrationsFolder));
}

async function replace(from: string, to: string): Promise<void> {
  const text = await readFile(from, "utf8");
  if (text === (await readFile(to, "utf8").catch(() => undefined))) return;
  const partial = `${to}.${process.pid}`;
  await writeFile(partial, text);
  await rename(partial, to);
  console.log(`${isBlank(text) ? "emptied" : "wrote"} ${to.slice(root.length)}`);
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
