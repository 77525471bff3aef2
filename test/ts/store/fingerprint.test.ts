import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fingerprint } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const fingerprints = suite("fingerprint");
const database = await testDatabase();

fingerprints.after(() => database.close());

const vectors: [kind: string, payload: Uint8Array | string, expected: string][] = [
  ["email:welcome", "", "bed0eecb39af02d79d5cdc8026a9b817"],
  ["", "", "af5570f5a1810b7af78caf4bc70a660f"],
  ["a", "bc", "47ea6f805c5b663e33012cd34184e139"],
  ["ab", "c", "60014a36d7b05b0730e42a8b96faa1ff"],
  ["charge", Uint8Array.of(0, 1, 2), "295e280cea51e7f3978bc3195d8fd4ae"],
  ["résumé:parse", "{}", "a9b8c5d03aa1a0710129091fa3dc0a1d"],
];

async function inSql(kind: string, payload: Uint8Array): Promise<unknown> {
  const [row] = await database.query("select :SCHEMA.fingerprint($1, $2) as f", [kind, Buffer.from(payload)]);
  return row?.["f"];
}

fingerprints("the vectors, here and in SQL", async () => {
  for (const [kind, payload, expected] of vectors) {
    assert.is(fingerprint(kind, payload), expected, kind);
    assert.is(await inSql(kind, Buffer.from(payload)), expected, kind);
  }
});

fingerprints("both agree about anything", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme" }).filter((kind) => !kind.includes("\0")),
      fc.uint8Array({ maxLength: 300 }),
      async (kind, payload) => {
        assert.is(fingerprint(kind, payload), await inSql(kind, payload));
      },
    ),
    { numRuns: 200 },
  );
});

fingerprints("part of a larger buffer counts as that part", () => {
  assert.is(fingerprint("a", Buffer.from("xbcx").subarray(1, 3)), fingerprint("a", "bc"));
});

fingerprints.run();
