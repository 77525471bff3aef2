import { basename } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { allowed } from "../../scripts/lib/sql-rules.js";
import { testDatabase } from "./support/database.js";

/** What the catalogue says about an installed schema. The rules for files are in `npm run lint:sql`. */
const catalogue = suite("catalogue");
const database = await testDatabase();

/** Runs a query that lists offenders in a column `object`. */
async function none(query: string): Promise<void> {
  const rows = await database.query<{ object: string }>(query, [database.schema]);
  assert.equal(
    rows.map(({ object }) => object),
    [],
  );
}

const functions = `from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = $1`;
const relations = `from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1`;

catalogue("holds functions and tables at all", async () => {
  const [counts] = await database.query<{ functions: number; tables: number }>(
    `select (select count(*)::int ${functions}) as functions,
            (select count(*)::int ${relations} where c.relkind in ('r', 'p')) as tables`,
    [database.schema],
  );
  assert.ok(counts && counts.functions > 50 && counts.tables > 10, JSON.stringify(counts));
});

catalogue("every function is security definer, but for those that the rules name", async () => {
  const rows = await database.query<{ name: string }>(
    `select p.proname as name ${functions} where not p.prosecdef`,
    [database.schema],
  );
  assert.equal(
    rows.map(({ name }) => name).sort(),
    [...allowed.invoker].map((file) => basename(file, ".sql")).sort(),
  );
});

catalogue("every function pins its path", () =>
  none(`select p.proname as object ${functions}
    where 'search_path=pg_catalog, pg_temp' <> all (coalesce(p.proconfig, '{}'))`),
);

catalogue("every function is explained", () =>
  none(`select p.proname as object ${functions} where obj_description(p.oid, 'pg_proc') is null`),
);

catalogue("nobody may call a function without a grant", () =>
  none(`select p.proname as object ${functions}
    cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    where a.grantee <> p.proowner`),
);

catalogue("nobody may touch a table or view without a grant", () =>
  none(`select c.relname as object ${relations}
    cross join lateral aclexplode(c.relacl) a
    where c.relkind in ('r', 'p', 'v', 'm', 'S') and a.grantee <> c.relowner`),
);

catalogue("every table and view is explained", () =>
  none(`select c.relname as object ${relations}
    where c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition and obj_description(c.oid, 'pg_class') is null`),
);

catalogue("no number runs out: identity columns are bigint", () =>
  none(`select c.relname || '.' || a.attname as object ${relations}
    join pg_attribute a on a.attrelid = c.oid and a.attidentity <> '' and a.atttypid <> 'bigint'::regtype`),
);

catalogue("no column has a serial default", () =>
  none(`select c.relname || '.' || a.attname as object ${relations}
    join pg_attribute a on a.attrelid = c.oid
    join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where pg_get_expr(d.adbin, d.adrelid) like 'nextval(%'`),
);

catalogue("every table has a key", () =>
  none(`select c.relname as object ${relations}
    where c.relkind in ('r', 'p')
      and not exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and i.indpred is null)`),
);

catalogue("milliseconds are bigint", () =>
  none(`select c.relname || '.' || a.attname as object ${relations}
    join pg_attribute a on a.attrelid = c.oid and a.attname like '%\\_ms' and a.atttypid <> 'bigint'::regtype`),
);

catalogue("no row moves to another partition: none is divided by what anything changes (R-32)", () =>
  none(`select c.relname || ' ' || pg_get_partkeydef(c.oid) as object ${relations}
    where c.relkind = 'p' and c.relname || ' ' || pg_get_partkeydef(c.oid) <> 'job_archive RANGE (evicted_at_ms)'
    union all select p.proname ${functions} where p.prosrc ~* 'update\\s+(only\\s+)?\\S+job_archive'`),
);

catalogue("no function is overloaded: a call by name can't be ambiguous", () =>
  none(`select p.proname as object ${functions} group by p.proname having count(*) > 1`),
);

catalogue("everything is inside the schema", () =>
  none(`with schemas as (
      select oid, nspname from pg_namespace
      where nspname not like 'pg\\_%' and nspname not in ('information_schema', $1)
    )
    select nspname as object from schemas where nspname <> 'public'
    union all select s.nspname || '.' || c.relname from pg_class c join schemas s on s.oid = c.relnamespace
    union all select s.nspname || '.' || p.proname from pg_proc p join schemas s on s.oid = p.pronamespace
    union all select s.nspname || '.' || t.typname from pg_type t join schemas s on s.oid = t.typnamespace
    union all select extname from pg_extension where extname <> 'plpgsql'
    union all select evtname from pg_event_trigger`),
);

catalogue.after(() => database.close());
catalogue.run();
