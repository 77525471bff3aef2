import type { ClientBase } from "pg";
import type { SchemaName } from "./schema-name.js";

/** An index that PostgreSQL does not use: its making was cut short, and a unique one refuses nothing that was there before. */
export interface InvalidIndex {
  readonly name: string;
  /** What a rebuild has left, or is making now. The index itself is sound, and the next rebuild of it clears this up. */
  readonly leftover: boolean;
}

/** The indexes of a schema that are not valid. */
export async function readInvalidIndexes(client: ClientBase, schema: SchemaName): Promise<InvalidIndex[]> {
  const { rows } = await client.query<{ name: string; leftover: boolean }>(
    `select i.relname as name, i.relname ~ '_cc(new|old)[0-9]*$' as leftover
       from pg_catalog.pg_index x
       join pg_catalog.pg_class i on i.oid = x.indexrelid
       join pg_catalog.pg_namespace n on n.oid = i.relnamespace
      where n.nspname = $1 and not (x.indisvalid and x.indisready)
      order by i.relname`,
    [schema.name],
  );
  return rows.map(({ name, leftover }) => ({ name, leftover }));
}
