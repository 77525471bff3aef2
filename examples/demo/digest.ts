import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** What the demo's jobs find out about a file. */
export interface Digest {
  readonly sha256: string;
  readonly lines: number;
}

/** SHA-256 and number of line feeds of a file. */
export async function digest(path: string, signal?: AbortSignal): Promise<Digest> {
  const hash = createHash("sha256");
  let lines = 0;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return { sha256: hash.digest("hex"), lines };
}
