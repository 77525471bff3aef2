import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Abort } from "../../../src/worker/abort.js";

const aborts = suite("abort");

aborts("a signal that was asked for before the abort is told of it", () => {
  const abort = new Abort();
  const { signal } = abort;
  const told: unknown[] = [];
  signal.addEventListener("abort", (event) => told.push([event.type, signal.aborted, signal.reason]));
  signal.throwIfAborted();
  const reason = new Error("first");
  abort.abort(reason);
  abort.abort(new Error("second"));
  assert.equal(told, [["abort", true, reason]]);
  assert.is(signal.reason, reason);
  assert.is(abort.signal, signal);
  assert.throws(
    () => signal.throwIfAborted(),
    (error: unknown) => error === reason,
  );
});

aborts("a signal that is asked for behind the abort has aborted for its reason", () => {
  const abort = new Abort();
  const reason = new Error("why");
  abort.abort(reason);
  const { signal } = abort;
  assert.ok(signal instanceof AbortSignal && signal.aborted);
  assert.is(signal.reason, reason);
  assert.is(abort.signal, signal);
  assert.ok(AbortSignal.any([signal, new AbortController().signal]).aborted);
});

aborts("without a reason it has the one that every signal has", () => {
  const abort = new Abort();
  abort.abort();
  assert.ok(abort.aborted);
  assert.is((abort.signal.reason as Error).name, "AbortError");
});

aborts("listeners of its own are called once, with or without a signal, and not when they have left", () => {
  for (const withSignal of [false, true]) {
    const abort = new Abort();
    if (withSignal) void abort.signal;
    const told: string[] = [];
    const stays = (): void => void told.push(`stays: ${String(abort.reason)}`);
    const leaves = (): void => void told.push("leaves");
    abort.addEventListener("abort", stays);
    abort.addEventListener("abort", stays);
    abort.addEventListener("abort", leaves);
    abort.removeEventListener("abort", leaves);
    abort.abort("why");
    abort.abort("again");
    abort.addEventListener("abort", () => told.push("too late"));
    assert.equal(told, ["stays: why"]);
  }
});

aborts("who listens to the signal and aborts again changes nothing", () => {
  const abort = new Abort();
  let told = 0;
  abort.addEventListener("abort", () => told++);
  abort.signal.addEventListener("abort", () => abort.abort("inner"));
  abort.abort("outer");
  assert.is(told, 1);
  assert.equal([abort.reason, abort.signal.reason], ["outer", "outer"]);
});

aborts.run();
