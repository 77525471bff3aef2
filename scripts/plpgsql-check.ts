/**
 * Runs plpgsql_check over every function, which finds what a first call would find: missing columns, wrong types,
 * unused variables. The extension is not among the binaries from npm, so this needs a PostgreSQL from Debian
 * (postgresql-15 and postgresql-15-plpgsql-check); where root may install them, `--install` does.
 * Ends like the tests do, with "N passed, N failed"; one function is one test.
 */
import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { parseArgs, promisify } from "node:util";
import pg from "pg";
import { startEmbedded } from "../test/ts/support/embedded.js";
import { makeTemplate, testSchema } from "../test/ts/support/template.js";

const run = promisify(execFile);
const { values } = parseArgs({ options: { install: { type: "boolean", default: false } } });

const home = "/usr/lib/postgresql/15";
const extension = "/usr/share/postgresql/15/extension/plpgsql_check.control";

const available = async (): Promise<boolean> =>
  access(extension).then(
    () => true,
    () => false,
  );

async function install(): Promise<void> {
  // Without this the package starts a cluster, which nobody needs.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = ["-y", "-qq", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"];
  await run("apt-get", ["update", "-qq"], { env }).catch(() => undefined);
  await run("apt-get", ["install", ...options, "postgresql-15", "postgresql-15-plpgsql-check"], { env });
}

/** What it says about sound code. */
const accepted = [
  // A literal such as '{}' counts as text until it is assigned.
  'cast "text" value to',
  // It can't know that raise_error and those that call it never return.
  "control reached end of function without RETURN",
];

interface Finding {
  readonly name: string;
  /** Everything it has to say, a line each; null where it has nothing. */
  readonly findings: string | null;
}

/** A trigger function is checked against a table; which one hardly matters for ours, so the first that has it. */
const check = `
  select p.proname as name, string_agg(
      concat_ws(' ', 'line', c.lineno, c.level || ':', c.message, c.detail, c.hint), chr(10) order by c.lineno)
      filter (where c.functionid is not null
        and not exists (select from unnest($2::text[]) a where strpos(concat(c.message, c.detail), a) > 0)) as findings
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace and n.nspname = $1
  join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  left join lateral plpgsql_check_function_tb(p.oid,
    relid => case when p.prorettype = 'trigger'::regtype then coalesce(
      (select min(t.tgrelid::oid) from pg_trigger t where t.tgfoid = p.oid),
      (select r.oid from pg_class r where r.relnamespace = n.oid and r.relname = 'job')) else 0 end,
    fatal_errors => false) c on true
  group by p.oid, p.proname
  order by p.proname`;

async function checkAll(): Promise<{ passed: number; failed: number }> {
  const server = await startEmbedded({ home });
  try {
    await makeTemplate(server.url(), "checked", (text) => console.log(`note: ${text}`));
    const client = new pg.Client({ connectionString: server.url("checked") });
    await client.connect();
    try {
      await client.query("create extension plpgsql_check");
      const { rows } = await client.query<Finding>(check, [testSchema, accepted]);
      const failures = rows.filter(({ findings }) => findings !== null);
      for (const { name, findings } of failures)
        console.log(`${name}\n${(findings ?? "").replace(/^/gm, "    ")}`);
      return { passed: rows.length - failures.length, failed: failures.length };
    } finally {
      await client.end();
    }
  } finally {
    await server.close();
  }
}

if (!(await available()) && values.install && process.getuid?.() === 0) {
  await install().catch((error: unknown) => console.log(error instanceof Error ? error.message : error));
}
if (await available()) {
  const { passed, failed } = await checkAll();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
} else {
  console.log("SKIPPED: plpgsql_check for PostgreSQL 15 is not installed; see scripts/plpgsql-check.ts");
  console.log("0 passed, 0 failed");
}
