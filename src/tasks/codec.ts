/** How payloads and results become bytes and back. */
export interface Codec {
  /** Gets undefined where a job is enqueued without a payload. @throws where the value can't be written. */
  encode(value: unknown): Uint8Array;
  /** @throws where the bytes can't be read; such a job ends `undecodable`. */
  decode(bytes: Uint8Array): unknown;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** JSON in UTF-8; the default. A value without a JSON form (undefined, a function, a BigInt, a circle) is an error. */
export const jsonCodec: Codec = {
  encode(value) {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new TypeError(`a value of type ${typeof value} has no JSON form`);
    return Buffer.from(text, "utf8");
  },
  decode: (bytes) => JSON.parse(utf8.decode(bytes)) as unknown,
};
