import pg from "pg";
import { committedFolder, readCommitted, type Migration } from "./committed.js";
import { MigrationError } from "./errors.js";
import { fillPlaceholders } from "./placeholders.js";
import { schemaName, type SchemaName } from "./schema-name.js";
import { transactionSettings } from "./settings.js";

export interface CompileOptions {
  /** @defaultValue "headrace" */
  readonly schema?: string;
  /** The version that is installed already: only later migrations are printed. @defaultValue 0 */
  readonly from?: number;
  /** Another folder of committed migrations; for tests. */
  readonly folder?: string;
}

/**
 * The migrations as plain SQL for psql or any other runner, each in its own transaction. It refuses to run where it
 * does not belong (installed already, or a version is missing), and `migrate` agrees with what it leaves behind.
 *
 * @throws MigrationError when this package has no migration of the version `from`.
 */
export async function compileSql(options: CompileOptions = {}): Promise<string> {
  const schema = schemaName(options.schema ?? "headrace");
  const from = options.from ?? 0;
  const migrations = await readCommitted(options.folder ?? committedFolder);
  if (from !== 0 && !migrations.some(({ version }) => version === from)) {
    const known = migrations.map(({ version, name }) => `${version} (${name})`).join(", ");
    throw new MigrationError(`there is no migration ${from}; this package has ${known || "none"}`);
  }
  return [
    `-- Headrace, for the schema ${schema.identifier}. Run it with: psql -v ON_ERROR_STOP=1 -f <this file>`,
    "set client_encoding = 'UTF8';",
    ...migrations.filter(({ version }) => version > from).map((one) => transaction(one, schema)),
  ].join("\n");
}

function transaction(migration: Migration, schema: SchemaName): string {
  const { version, name, hash, filename } = migration;
  return `
-- ${filename}
begin isolation level read committed;
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(${pg
    .escapeLiteral(`headrace migrate ${schema.name}`)
    .trimStart()}, 0));
${transactionSettings(60_000)}
${guard(version, schema)}
${fillPlaceholders(migration.body, schema).trimEnd()}
update ${schema.identifier}.schema_migration
   set name = ${pg.escapeLiteral(name).trimStart()}, hash = ${pg.escapeLiteral(hash).trimStart()} where version = ${version};
commit;
`;
}

/** Not after itself or a later one, not before its predecessor; the first one makes the schema. */
function guard(version: number, schema: SchemaName): string {
  const firstOnly = `
  if not exists (select from pg_namespace where nspname = ${schema.literal}) then
    create schema ${schema.identifier};
  end if;`;
  return `do $headrace$
declare
  installed integer := 0;
begin${version === 1 ? firstOnly : ""}
  if exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema.literal} and c.relname = 'schema_migration'
  ) then
    select coalesce(max(m.version), 0) into installed from ${schema.identifier}.schema_migration m;
  end if;
  if installed <> ${version - 1} then
    raise exception 'migration ${version} follows version ${version - 1}, but version % is installed', installed;
  end if;
end
$headrace$;`;
}
