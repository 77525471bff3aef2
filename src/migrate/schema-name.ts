import pg from "pg";

/** A schema name in the two spellings that SQL text needs. */
export interface SchemaName {
  readonly name: string;
  /** As an identifier, quoted. */
  readonly identifier: string;
  /** As a string literal, quoted. */
  readonly literal: string;
}

/**
 * Checks a schema name and quotes it.
 *
 * The quoted name is pasted into migration text as it stands, inside function bodies and comments too.
 * So besides what PostgreSQL refuses, a name that could close a dollar quote or leave a comment is refused here.
 */
export function schemaName(name: string): SchemaName {
  const bytes = Buffer.byteLength(name, "utf8");
  if (bytes < 1 || bytes > 63) {
    throw new RangeError(`schema name must have 1 to 63 bytes, not ${bytes}`);
  }
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(name)) {
    throw new RangeError("schema name must not contain control characters or line breaks");
  }
  if (/\$[^$\s"'.]*\$/.test(name) || name.includes("/*") || name.includes("*/")) {
    throw new RangeError(`schema name must not contain a dollar quote or a comment mark: ${name}`);
  }
  if (name.startsWith("pg_") || name === "information_schema") {
    throw new RangeError(`schema name belongs to PostgreSQL: ${name}`);
  }
  return { name, identifier: pg.escapeIdentifier(name), literal: pg.escapeLiteral(name).trimStart() };
}
