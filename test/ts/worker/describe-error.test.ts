import { suite } from "uvu";
import * as assert from "uvu/assert";
import { describeError } from "../../../src/worker/index.js";

const errors = suite("describeError");

errors("names an ordinary error, its code, its frames and its causes", () => {
  const error = Object.assign(new TypeError("outer", { cause: new Error("inner") }), { code: "E42" });
  const text = describeError(error);
  assert.match(text, /^TypeError: outer\ncode: E42\n\s+at /);
  assert.match(text, /Caused by: Error: inner/);
});

errors("describes whatever is thrown", () => {
  const odd: unknown[] = [
    undefined,
    null,
    "",
    "text",
    42,
    10n,
    Symbol("s"),
    {},
    { message: undefined },
    () => 1,
    Object.create(null),
    new Proxy(
      {},
      {
        get() {
          throw new Error("trap");
        },
      },
    ),
  ];
  for (const thrown of odd) assert.ok(describeError(thrown).length > 0);
  assert.is(describeError("text"), "text");
  assert.is(describeError(undefined), "undefined was thrown");
});

errors("survives circles, secrets and size (R-57)", () => {
  const circle: Error & { self?: unknown; config?: unknown } = new Error("a\u0000b \ud83d");
  circle.cause = circle;
  circle.config = { password: "hunter2", body: Buffer.alloc(5_000_000) };
  const text = describeError(circle);
  assert.not.match(text, /hunter2/);
  assert.not.ok(text.includes("\0"));
  assert.match(text, /a\u2400b \ufffd/);
  const huge = new Error("x".repeat(10_000_000));
  huge.stack = `Error\n    at ${"y".repeat(10_000_000)}`;
  assert.ok(Buffer.byteLength(describeError(huge)) <= 8000);
  const wide = describeError(new Error("\u{1F981}".repeat(10_000)));
  assert.ok(wide.isWellFormed());
});

errors.run();
