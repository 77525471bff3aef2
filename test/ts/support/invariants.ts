import type pg from "pg";
import { escapeIdentifier } from "pg";
import { hasFunction, testSchema } from "./template.js";

/** What `verify_invariants()` objects to, a line each; empty where all is well, or where it does not exist yet. */
export async function brokenInvariants(client: pg.ClientBase | pg.Pool): Promise<string[]> {
  if (!(await hasFunction(client, "verify_invariants"))) return [];
  const { rows } = await client.query<Record<string, unknown>>(
    `select * from ${escapeIdentifier(testSchema)}.verify_invariants()`,
  );
  return rows.map((row) =>
    JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
}
