import { didYouMean } from "../nearest.js";
import { invalid } from "./errors.js";
import { checkBoolean, checkText, checkTexts, checkWhole } from "./text.js";
import type { Job } from "./types.js";

type Field = Exclude<keyof Job, "payload" | "uniqueKey" | "headers">;

/** How each field is called in SQL, and what it must be before it may be sent; bounds are checked there. */
const fields: Readonly<
  Record<Field, readonly [name: string, check: (name: string, value: unknown) => void]>
> = {
  kind: ["kind", checkText],
  queue: ["queue", checkText],
  partitionKey: ["partition_key", checkText],
  rateClass: ["rate_class", checkText],
  rateClasses: ["rate_classes", checkTexts],
  weight: ["weight", checkWhole],
  priority: ["priority", checkWhole],
  maxAttempts: ["max_attempts", checkWhole],
  scheduledAtMs: ["scheduled_at_ms", checkWhole],
  delayMs: ["delay_ms", checkWhole],
  timeoutMs: ["timeout_ms", checkWhole],
  deadlineMs: ["deadline_ms", checkWhole],
  retentionMs: ["retention_ms", checkWhole],
  uniqueWindowMs: ["unique_window_ms", checkWhole],
  uniqueScope: ["unique_scope", checkText],
  uniqueReplace: ["unique_replace", checkTexts],
  uniqueDebounceMs: ["unique_debounce_ms", checkWhole],
  tags: ["tags", checkTexts],
  pending: ["pending", checkBoolean],
  stickyWorker: ["sticky_worker", checkText],
  id: ["id", checkText],
  schemaVersion: ["schema_version", checkWhole],
  fingerprint: ["fingerprint", checkText],
  periodicScheduleId: ["periodic_schedule_id", checkText],
  periodicTickMs: ["periodic_tick_ms", checkWhole],
};

const maxJobs = 10_000;
const maxPayloadBytes = 1024 * 1024;
/** Of all payloads of a batch together. */
const maxBatchBytes = 64 * 1024 * 1024;

/** A batch in the JSON of `enqueue_many`. @throws StoreError `invalid` for what can't be written. */
export function batchJson(batch: readonly Job[]): string {
  if (!Array.isArray(batch)) throw invalid("jobs", "must be a list of jobs", `1..${maxJobs} jobs`);
  if (batch.length > maxJobs) throw invalid("jobs", `are too many: ${batch.length}`, `1..${maxJobs} jobs`);
  // Sizes are checked here too: what SQL would refuse for its size alone need not travel there.
  const size = { bytes: 0 };
  const texts = batch.map((job: Job) => jobJson(job, size));
  return `[${texts.join(",")}]`;
}

function jobJson(job: Job, size: { bytes: number }): string {
  if (job === null || typeof job !== "object") throw invalid("jobs", "must be a list of jobs", "objects");
  const parts: string[] = [];
  for (const [name, value] of Object.entries(job) as [keyof Job, unknown][]) {
    if (value === undefined || value === null) continue;
    if (name === "payload") parts.push(payloadJson(value, size));
    else if (name === "uniqueKey") parts.push(uniqueKeyJson(value));
    else if (name === "headers") parts.push(headersJson(value));
    else {
      const [column, check] = Object.hasOwn(fields, name) ? fields[name] : unknownField(name);
      check(column, value);
      parts.push(`"${column}":${JSON.stringify(value)}`);
    }
  }
  if (job.payload === null) parts.push(`"payload":null`);
  return `{${parts.join(",")}}`;
}

function payloadJson(payload: unknown, size: { bytes: number }): string {
  if (payload instanceof Uint8Array) {
    count(payload.byteLength, size);
    return `"payload_base64":"${base64(payload)}"`;
  }
  const text = payloadText(payload);
  count(Buffer.byteLength(text, "utf8"), size);
  // Two things that JSON can say and PostgreSQL's JSON can't: they travel as bytes, and arrive as they are.
  if (/\\u(?:0000|d[89a-f])/i.test(text)) return `"payload_base64":"${base64(Buffer.from(text, "utf8"))}"`;
  return `"payload":${text}`;
}

/** A payload as the bytes that are stored. @throws StoreError `invalid` for what has no JSON form. */
export function payloadBytes(payload: unknown): Uint8Array {
  return payload instanceof Uint8Array ? payload : Buffer.from(payloadText(payload), "utf8");
}

function payloadText(payload: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    throw invalid(
      "payload",
      error instanceof Error ? error.message : String(error),
      "bytes, or what JSON can say",
      error,
    );
  }
  if (text === undefined) {
    throw invalid("payload", `of type ${typeof payload} has no JSON form`, "bytes, or what JSON can say");
  }
  return text;
}

function count(bytes: number, size: { bytes: number }): void {
  if (bytes > maxPayloadBytes) {
    throw invalid("payload", `is too long: ${bytes} bytes`, `at most ${maxPayloadBytes} bytes`);
  }
  size.bytes += bytes;
  if (size.bytes > maxBatchBytes) {
    throw invalid("jobs", "carry too much payload", `at most ${maxBatchBytes} bytes`);
  }
}

function uniqueKeyJson(key: unknown): string {
  if (key instanceof Uint8Array) return `"unique_key_base64":"${base64(key)}"`;
  checkText("unique_key", key);
  return `"unique_key":${JSON.stringify(key)}`;
}

function headersJson(headers: unknown): string {
  return `"headers":${headersText(headers)}`;
}

/** Headers as JSON. @throws StoreError `invalid` for anything but an object of texts. */
export function headersText(headers: unknown): string {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    throw invalid("headers", "must be an object", "up to 128 entries of text");
  }
  for (const [name, value] of Object.entries(headers)) {
    checkText("headers", name);
    checkText(`headers.${name}`, value);
  }
  return JSON.stringify(headers);
}

function unknownField(name: string): never {
  const known = ["payload", "uniqueKey", "headers", ...Object.keys(fields)];
  throw invalid(name, `is not a field of a job${didYouMean(name, known)}`, known.join(", "));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
