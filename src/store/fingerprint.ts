import { createHash } from "node:crypto";

/**
 * Names the content of a job, as `fingerprint` in SQL does: the first 16 bytes of SHA-256 over the kind and the payload,
 * each behind its length, in lower-case hex. Text stands for its UTF-8 bytes.
 */
export function fingerprint(kind: string, payload: Uint8Array | string): string {
  const hash = createHash("sha256");
  for (const part of [
    Buffer.from(kind, "utf8"),
    typeof payload === "string" ? Buffer.from(payload, "utf8") : payload,
  ]) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(part.byteLength);
    hash.update(length).update(part);
  }
  return hash.digest("hex").slice(0, 32);
}
