import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Abort } from "../../../src/worker/abort.js";
import { Drain } from "../../../src/worker/drain.js";
import { Line } from "../../../src/worker/line.js";
import { Semaphore } from "../../../src/worker/semaphore.js";
import { isSuspect, Suspects } from "../../../src/worker/suspects.js";
import { firstOf, monotonicMs, Notice, pause, Ticker, unlessStuck } from "../../../src/worker/timing.js";
import { eventually } from "../support/eventually.js";
import { attemptOf, claimOf } from "./fakes.js";

const timing = suite("timing");

const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let over = false;
  void promise.then(() => (over = true));
  await sleep(20);
  return over;
};

timing("a pause longer than a timer can hold does not end at once", async () => {
  const over = new AbortController();
  const long = pause(2 ** 31 + 50, over.signal);
  const endless = pause(Infinity, over.signal);
  assert.not.ok(await settled(Promise.race([long, endless])));
  over.abort();
  await Promise.all([long, endless]);
});

timing("waits that are over leave nothing behind", async () => {
  const signal = new AbortController().signal;
  const abort = new Abort();
  let listeners = 0;
  const { addEventListener, removeEventListener } = abort;
  abort.addEventListener = (...args) => (listeners++, addEventListener.apply(abort, args));
  abort.removeEventListener = (...args) => (listeners--, removeEventListener.apply(abort, args));
  const notice = new Notice();
  for (let n = 0; n < 100; n++) {
    await firstOf(
      () => pause(0, signal),
      () => unlessStuck(pause(0), abort, 60_000),
      (over) => notice.next(over),
      (over) => pause(60_000, over),
      (over) => pause(0, over),
    );
  }
  await eventually("they are over", () => listeners === 0);
  assert.is(getEventListeners(signal, "abort").length, 0);
});

timing("work that goes on for its grace after an abort is stuck, and no other is", async () => {
  const abort = new Abort();
  const over = new Abort();
  const ends = unlessStuck(
    pause(60_000, over).then(() => "ended"),
    abort,
    60_000,
  );
  // The grace alone keeps no process alive.
  const alive = setInterval(() => undefined, 1000);
  const goesOn = unlessStuck(new Promise(() => undefined), abort, 10);
  assert.not.ok(await settled(goesOn), "nobody has told it to stop");
  abort.abort();
  assert.is(await goesOn, undefined);
  over.abort();
  assert.is(await ends, "ended");
  assert.is(await unlessStuck(new Promise(() => undefined), abort, 0), undefined);
  clearInterval(alive);
});

timing("a ticker goes on after a failure, and stop waits for the work in hand", async () => {
  const failures: unknown[] = [];
  let ticks = 0;
  let working = false;
  const ticker = new Ticker(
    1,
    async () => {
      working = true;
      await sleep(5);
      working = false;
      if (++ticks === 1) throw new Error("first");
    },
    (error) => failures.push(error),
  );
  await eventually("three ticks", () => ticks >= 3);
  await eventually("works", () => working);
  await ticker.stop();
  assert.not.ok(working);
  assert.is(failures.length, 1);
  const before = ticks;
  await sleep(20);
  assert.is(ticks, before);
});

timing("a semaphore lets so many in, in their order, and a signal ends the wait", async () => {
  const semaphore = new Semaphore(2);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  const work = (n: number) => async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await sleep(5);
    order.push(n);
    inside--;
    if (n === 3) throw new Error("three");
  };
  const leaver = new AbortController();
  const runs = [0, 1, 2, 3, 4, 5].map((n) =>
    semaphore.run(work(n), n === 4 ? leaver.signal : undefined).catch((error: unknown) => String(error)),
  );
  leaver.abort("gone");
  const results = await Promise.all(runs);
  assert.equal(order, [0, 1, 2, 3, 5]);
  assert.equal([results[3], results[4]], ["Error: three", "gone"]);
  assert.is(most, 2);
  assert.is(await semaphore.run(() => Promise.resolve("free again")), "free again");
  assert.is(getEventListeners(leaver.signal, "abort").length, 0);
  const told = await semaphore.run(() => Promise.resolve("in"), leaver.signal);
  assert.is(told, "in");
});

timing("nobody overtakes who waits for a semaphore", async () => {
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const first = semaphore.run(() => sleep(5));
  const second = semaphore.run(async () => void order.push("waited"));
  void first.then(() => semaphore.run(async () => void order.push("came later")));
  await second;
  await sleep(5);
  assert.equal(order, ["waited", "came later"]);
});

timing("a line takes twice its limit in; those beyond come back one behind another", async () => {
  const line = new Line(2);
  const never = new AbortController().signal;
  let inside = 0;
  let most = 0;
  const take = (): Promise<void> =>
    line.run(async () => {
      most = Math.max(most, ++inside);
      await sleep(40);
      inside--;
    }, never);
  const all = [take(), take(), take()];
  assert.not.ok(line.full);
  all.push(take());
  assert.ok(line.full);
  await Promise.all(all);
  assert.is(most, 2);
  assert.not.ok(line.full);
  // 40 ms each, two at a time: one every 20 ms, and they come back twice as fast.
  const delays = Array.from({ length: 400 }, () => line.putOffMs());
  assert.ok((delays[0] ?? 0) >= 10 && (delays[0] ?? 0) <= 12, String(delays[0]));
  const paceMs = ((delays[399] ?? 0) - (delays[0] ?? 0)) / 399;
  assert.ok(paceMs > 8 && paceMs < 60, String(paceMs));
  for (let n = 0; n < 20_000; n++) assert.ok(line.putOffMs() <= 60_000);
});

timing("the time to drain can be cut short, never prolonged", async () => {
  const drain = new Drain();
  const never = new AbortController().signal;
  const over = drain.over(never);
  assert.not.ok(await settled(over));
  drain.limit(Infinity);
  drain.limit(60_000);
  assert.not.ok(await settled(over));
  const begun = monotonicMs();
  drain.limit(50);
  drain.limit(60_000);
  await over;
  assert.ok(monotonicMs() - begun < 10_000);
  await drain.over(never);
  const stopped = new AbortController();
  const waiting = new Drain().over(stopped.signal);
  stopped.abort();
  await waiting;
});

interface Watched {
  readonly suspects: Suspects;
  readonly begun: string[];
  readonly delays: number[];
  readonly ends: Map<string, () => void>;
  /** The jobs that were put off are known to be. */
  durable(): void;
}

function suspected(probationMs: number): Watched {
  const begun: string[] = [];
  const delays: number[] = [];
  const ends = new Map<string, () => void>();
  let durable = (): void => undefined;
  const suspects = new Suspects({
    async run(attempt, ready) {
      await ready;
      begun.push(attempt.claim.id);
      await new Promise<void>((resolve) => ends.set(attempt.claim.id, resolve));
    },
    putOff(_attempt, delayMs) {
      delays.push(delayMs);
      return new Promise((resolve) => (durable = resolve));
    },
    probationMs,
  });
  return { suspects, begun, delays, ends, durable: () => durable() };
}

timing("of those on their last chance one runs at a time; the others are put off", async () => {
  const { suspects, begun, delays, ends, durable } = suspected(600_000);
  suspects.accept([attemptOf("a"), attemptOf("b")]);
  await sleep(5);
  assert.equal(begun, [], "the others are let go before it begins");
  durable();
  await eventually("a runs", () => begun.length === 1);
  suspects.accept([attemptOf("c"), attemptOf("d")]);
  assert.equal([begun, delays], [["a"], [100, 100, 200]]);
  ends.get("a")?.();
  await sleep(5);
  suspects.accept([attemptOf("e")]);
  await eventually("e runs", () => begun.length === 2);
  assert.equal(begun, ["a", "e"]);
  const chances = [0, 1, 2, 3].map((crashAttempt) => isSuspect(claimOf("x", { crashAttempt })));
  assert.equal(chances, [false, false, true, true]);
});

timing("one that runs on and on holds up the next no more", async () => {
  const { suspects, begun } = suspected(30);
  suspects.accept([attemptOf("a")]);
  await eventually("b runs", () => {
    if (begun.length === 1) suspects.accept([attemptOf("b")]);
    return begun.length >= 2;
  });
});

timing.run();
