import { isDeepStrictEqual } from "node:util";

/** Any part of a value: of an object some of its fields, of these again any part. */
export type Partially<T> = T extends readonly unknown[]
  ? { readonly [Index in keyof T]: Partially<T[Index]> }
  : T extends object
    ? { readonly [Key in keyof T]?: Partially<T[Key]> }
    : T;

/**
 * The first place where `actual` is not what `expected` asks for, as a text such as `payload.to is "bob", not "ada"`;
 * undefined where it fits. An object may have more fields than are asked for, a list not more entries.
 */
export function difference(path: string, actual: unknown, expected: unknown): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${path} is ${show(actual)}, not ${show(expected)}`;
    if (actual.length !== expected.length) {
      return `${path} has ${actual.length} entries, not ${expected.length}`;
    }
    return firstOf(expected.map((value, at) => () => difference(`${path}[${at}]`, actual[at], value)));
  }
  if (isPlain(expected)) {
    if (!isPlain(actual)) return `${path} is ${show(actual)}, not ${show(expected)}`;
    return firstOf(
      Object.entries(expected).map(
        ([key, value]) =>
          () =>
            difference(`${path}.${key}`, actual[key], value),
      ),
    );
  }
  return isDeepStrictEqual(actual, expected)
    ? undefined
    : `${path} is ${show(actual)}, not ${show(expected)}`;
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);

/** A value for a message: JSON, at most 200 characters. */
export function show(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
  } catch {
    text = String(value);
  }
  text ??= String(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
