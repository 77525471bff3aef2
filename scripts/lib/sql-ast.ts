import { parsePlPgSQLSync, parseSync } from "libpg-query";

/** A node of PostgreSQL's own parse tree, as JSON. */
export type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Calls `see` for each named node in the tree, outermost first. */
export function walk(value: unknown, see: (name: string, node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, see);
  } else if (isNode(value)) {
    for (const [name, child] of Object.entries(value)) {
      if (isNode(child)) see(name, child);
      walk(child, see);
    }
  }
}

/**
 * Placeholders as something that parses, of the same length, so that places stay right.
 * `:SCHEMA_LITERAL` has 15 characters.
 */
export function parseable(text: string): string {
  return text.replace(/:SCHEMA(_LITERAL)?\b/g, (_, literal?: string) => (literal ? "'schemaliteral'" : ours));
}

/** What stands for our schema in parsed text. */
export const ours = "schema_";

export interface ParsedStatement {
  readonly kind: string;
  readonly node: Node;
  readonly at: number;
  readonly text: string;
}

/** PostgreSQL counts in bytes, we in characters. */
function characters(text: string, bytes: number): number {
  return Buffer.from(text, "utf8").subarray(0, bytes).toString("utf8").length;
}

export function parseStatements(text: string): ParsedStatement[] {
  const { stmts = [] } = parseSync(text) as {
    stmts?: { stmt: Node; stmt_location?: number; stmt_len?: number }[];
  };
  return stmts.map(({ stmt, stmt_location = 0, stmt_len }) => {
    const [kind = "", node] = Object.entries(stmt)[0] ?? [];
    const start = characters(text, stmt_location);
    const end = stmt_len === undefined ? text.length : characters(text, stmt_location + stmt_len);
    return { kind, node: node as Node, at: start, text: text.slice(start, end) };
  });
}

/** A piece of SQL in a function's body, with the line of the body that it belongs to. */
export interface Piece {
  readonly tree: unknown;
  readonly line: number;
}

export interface Body {
  readonly pieces: readonly Piece[];
  /** Statements of PL/pgSQL by name, such as `PLpgSQL_stmt_raise`, with their lines. */
  readonly steps: readonly { readonly name: string; readonly node: Node; readonly line: number }[];
}

/** Takes a `create function` apart, down to the expressions of PL/pgSQL. */
export function functionBody(statement: ParsedStatement, language: string, body: string): Body {
  if (language !== "plpgsql") return { pieces: [{ tree: parseSync(body), line: 1 }], steps: [] };
  const pieces: Piece[] = [];
  const steps: { name: string; node: Node; line: number }[] = [];
  let line = 1;
  // Without a catalogue the parser takes each type of ours for a record, and an array of records for an error.
  const known = statement.text.replace(new RegExp(`\\b${ours}\\.\\w+\\[\\]`, "g"), "text[]");
  walk(parsePlPgSQLSync(known), (name, node) => {
    if (typeof node["lineno"] === "number") line = node["lineno"];
    if (name.startsWith("PLpgSQL_stmt")) steps.push({ name, node, line });
    if (name === "PLpgSQL_expr" && typeof node["query"] === "string") {
      pieces.push({ tree: parseSync(expressionText(node["query"], Number(node["parseMode"] ?? 0))), line });
    }
  });
  return { pieces, steps };
}

/** PL/pgSQL parses expressions and assignments by modes of the parser that are not on offer here. */
function expressionText(query: string, mode: number): string {
  if (mode === 0) return query;
  if (mode === 2) return `select ${query}`;
  const assignment = /^[^=]*?:?=/.exec(query)?.[0] ?? "";
  return `select ${query.slice(assignment.length)}`;
}
