import type { SchemaName } from "./schema-name.js";

// The longer one first is not needed: \b keeps `:SCHEMA` from matching the beginning of `:SCHEMA_LITERAL`.
const placeholder = /:SCHEMA(_LITERAL)?\b/g;

/** Replaces `:SCHEMA` and `:SCHEMA_LITERAL`, as graphile-migrate does. */
export function fillPlaceholders(text: string, schema: SchemaName): string {
  return text.replace(placeholder, (_, literal?: string) => (literal ? schema.literal : schema.identifier));
}
