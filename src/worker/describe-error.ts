const limits = { message: 2048, frames: 3072, total: 8000, causes: 5 };

/**
 * Any thrown value as a text for the attempt's history: never empty, valid UTF-8 without NUL, at most 8,000 bytes.
 *
 * Only name, message, code, stack frames and the chain of causes are read. Other properties may hold secrets, sockets or
 * circles; they are left alone.
 */
export function describeError(thrown: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  let value: unknown = thrown;
  for (let depth = 0; depth <= limits.causes; depth++) {
    if (seen.has(value)) {
      parts.push("Caused by: itself");
      break;
    }
    seen.add(value);
    parts.push((depth === 0 ? "" : "Caused by: ") + describeOne(value));
    const cause = read(value, "cause");
    if (cause === undefined) break;
    value = cause;
  }
  return cutBytes(storable(parts.join("\n")), limits.total);
}

function describeOne(value: unknown): string {
  if (!isObject(value)) return describePrimitive(value);
  const name = textOf(value, "name");
  const message = textOf(value, "message") || messagesOf(read(value, "errors"));
  const code = read(value, "code");
  if (typeof value === "function") return `a function was thrown${name ? `: ${cut(name, 128)}` : ""}`;
  const head = [name && cut(name, 128), message && cut(message, limits.message)].filter(Boolean).join(": ");
  const lines = [head || "an object without name and message was thrown"];
  if (typeof code === "string" || typeof code === "number") lines.push(`code: ${cut(String(code), 128)}`);
  const frames = framesOf(textOf(value, "stack"));
  if (frames) lines.push(frames);
  return lines.join("\n");
}

function describePrimitive(value: unknown): string {
  if (typeof value === "string")
    return value === "" ? "an empty text was thrown" : cut(value, limits.message);
  if (value === undefined || value === null) return `${value} was thrown`;
  return `${typeof value} ${cut((value as symbol | number).toString(), limits.message)} was thrown`;
}

/** A refused connection to a name with several addresses has its messages in `errors` only. */
function messagesOf(errors: unknown): string {
  if (!Array.isArray(errors)) return "";
  return errors
    .slice(0, 5)
    .map((error) => textOf(error, "message"))
    .filter(Boolean)
    .join("; ");
}

/** A stack begins with the message, which is told already. */
function framesOf(stack: string): string {
  const at = stack.search(/^\s+at /m);
  return at < 0 ? "" : cut(stack.slice(at), limits.frames).trimEnd();
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** A getter or a proxy may throw. */
function read(value: unknown, property: string): unknown {
  if (!isObject(value)) return undefined;
  try {
    return (value as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown, property: string): string {
  const text = read(value, property);
  return typeof text === "string" ? text : "";
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length)} … (${text.length} characters)`;

/** A text that PostgreSQL can store: NUL is shown as ␀, a lone surrogate as U+FFFD. */
export function storable(text: string): string {
  return Buffer.from(text.replaceAll("\u0000", "\u2400"), "utf8").toString("utf8");
}

/** Cut to a number of bytes of UTF-8, never inside a character. */
export function cutBytes(text: string, bytes: number): string {
  const buffer = Buffer.from(text, "utf8");
  if (buffer.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end--;
  return buffer.subarray(0, end).toString("utf8");
}
