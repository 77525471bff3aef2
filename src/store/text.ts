import { invalid } from "./errors.js";

/**
 * Refuses a text that PostgreSQL can't hold: U+0000, or half of a surrogate pair, which has no UTF-8 form.
 * For what the caller chooses: ids, names, tags, headers.
 */
export function checkText(field: string, value: unknown): void {
  if (typeof value !== "string") {
    throw invalid(field, `must be text, not ${value === null ? "null" : typeof value}`, "text");
  }
  if (value.includes("\0")) throw invalid(field, "holds U+0000", "no U+0000 in a text");
  if (!value.isWellFormed()) throw invalid(field, "holds half of a surrogate pair", "well-formed Unicode");
}

/** Texts as an array of SQL, each checked as by `checkText`. Cheaper than what node-postgres makes of a list. */
export function textArray(field: string, values: readonly string[]): string {
  if (values.length === 0) return "{}";
  const all = values.join(",");
  if (all.includes("\0") || !all.isWellFormed()) for (const value of values) checkText(field, value);
  const quoted = /["\\]/.test(all) ? values.map((value) => value.replace(/["\\]/g, "\\$&")) : values;
  return `{"${quoted.join('","')}"}`;
}

/**
 * The same text with what PostgreSQL can't hold replaced by U+FFFD, cut to roughly what will be kept.
 * For what happened to somebody: errors and logs must never fail to be written.
 */
export function visibleText(value: string, maxCharacters: number): string {
  // Whoever comes without types may bring an Error.
  return String(value).slice(0, maxCharacters).toWellFormed().replaceAll("\0", "\ufffd");
}

/** JSON text with every U+0000 and every half of a surrogate pair in it replaced by U+FFFD. */
export function visibleJson(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  // Only these two are ever written as such escapes; what stands behind an escaped backslash is no escape.
  return (text ?? "null").replace(/\\(?:u(0000|d[89a-f][0-9a-f]{2})|.)/gi, (found, hex) =>
    hex ? "\\ufffd" : found,
  );
}

/** A whole number as JSON and SQL know it. Its bounds are checked in SQL. */
export function checkWhole(field: string, value: unknown): void {
  if (!Number.isSafeInteger(value)) {
    throw invalid(field, `is not a whole number: ${String(value).slice(0, 40)}`, "a whole number");
  }
}

/** A list of texts. */
export function checkTexts(field: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalid(field, "must be a list", "a list of texts");
  for (const entry of value) checkText(field, entry);
}

export function checkBoolean(field: string, value: unknown): void {
  if (typeof value !== "boolean") throw invalid(field, "is not a boolean", "true, false");
}

/** The same arguments, when each that is given passes the check. */
export function checked<Given extends Readonly<Record<string, unknown>>>(
  check: (field: string, value: unknown) => void,
  given: Given,
): Given {
  for (const [field, value] of Object.entries(given))
    if (value !== undefined && value !== null) check(field, value);
  return given;
}
