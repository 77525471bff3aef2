import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { StoreError, type AdmitAnswer } from "../../../src/index.js";
import { ClaimLoop, type LoopOptions } from "../../../src/worker/loop.js";
import { monotonicMs, Notice } from "../../../src/worker/timing.js";
import { eventually } from "../support/eventually.js";
import { claimOf, quiet } from "./fakes.js";

const loops = suite("claim loop");

interface Watched {
  readonly loop: ClaimLoop;
  /** Capacities that were asked for, and when. */
  readonly asked: { readonly capacity: number; readonly at: number }[];
  readonly accepted: string[];
  readonly slotFreed: Notice;
}

const answer = (claims: readonly string[], more: Partial<AdmitAnswer> = {}): AdmitAnswer =>
  Object.assign(
    claims.map((id) => claimOf(id)),
    { refused: {}, nextDueMs: null, storeNowMs: 0 },
    more,
  );

function looping(
  admit: (call: number, capacity: number) => Promise<AdmitAnswer> | AdmitAnswer,
  options: Partial<LoopOptions> = {},
): Watched {
  const asked: { capacity: number; at: number }[] = [];
  const accepted: string[] = [];
  const slotFreed = new Notice();
  const loop = new ClaimLoop({
    async admit(capacity) {
      asked.push({ capacity, at: monotonicMs() });
      return admit(asked.length, capacity);
    },
    wakeups: undefined,
    freeSlots: () => 4,
    slotFreed,
    ready: () => undefined,
    admitted: () => undefined,
    accept: (claims) => void accepted.push(...claims.map(({ id }) => id)),
    availability: quiet(),
    leaseMs: 30_000,
    poll: { min: 10, max: 60_000 },
    failed: () => undefined,
    ...options,
  });
  return { loop, asked, accepted, slotFreed };
}

/** Polls so rarely that only a hint explains the next one. */
const rarely = { poll: { min: 60_000, max: 60_000 } };

loops("it sleeps until the next job falls due, whatever clock this machine has", async () => {
  const storeNowMs = 7_000_000_000_000;
  const { loop, asked } = looping(
    (call) => answer([], call < 4 ? { storeNowMs, nextDueMs: storeNowMs + 150 } : {}),
    rarely,
  );
  await eventually("polled by the hint", () => asked.length >= 4);
  await loop.stop();
  const waits = asked.slice(1).map(({ at }, n) => at - (asked[n]?.at ?? 0));
  assert.ok(
    waits.every((ms) => ms >= 149),
    waits.join(),
  );
});

loops("what fell due during the admission is asked for soon, but not in a tight loop", async () => {
  const { loop, asked } = looping(
    (call) => answer([], call < 3 ? { storeNowMs: 5000, nextDueMs: 4999 } : {}),
    {
      poll: { min: 30, max: 60_000 },
    },
  );
  await eventually("polled again", () => asked.length >= 3);
  await loop.stop();
  assert.ok((asked[2]?.at ?? 0) - (asked[0]?.at ?? 0) >= 40);
});

loops("empty polls become rarer, up to the most", async () => {
  const { loop, asked } = looping(() => answer([]), { poll: { min: 4, max: 64 } });
  await eventually("seven polls", () => asked.length >= 7);
  await loop.stop();
  const waits = asked.slice(1).map(({ at }, n) => at - (asked[n]?.at ?? 0));
  // 4, 8, 16, 32, 64, 64; each give or take a fifth, at the least.
  for (const [at, least] of [3, 6, 12, 25, 51, 51].entries())
    assert.ok((waits[at] ?? 0) >= least - 1, `${at}: ${waits.join()}`);
});

loops("each job makes the polls quick again", async () => {
  const { loop, asked } = looping((call) => answer(call % 3 === 0 ? ["job"] : []), {
    poll: { min: 2, max: 600_000 },
  });
  // Doubled all the time, the pauses would be hours by then.
  await eventually("forty polls", () => asked.length >= 40);
  await loop.stop();
});

loops("while no slot is free nothing is asked for", async () => {
  let free = 0;
  const { loop, asked, slotFreed } = looping(() => answer([]), { ...rarely, freeSlots: () => free });
  await sleep(30);
  assert.is(asked.length, 0);
  free = 3;
  slotFreed.notify();
  await eventually("asked", () => asked.length === 1);
  assert.is(asked[0]?.capacity, 3);
  await loop.stop();
});

loops("quiet ends claims, and what a claim on its way brings is accepted", async () => {
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { loop, asked, accepted } = looping(async (call) => {
    if (call === 1) await held;
    return answer(call === 1 ? ["late"] : []);
  });
  await eventually("asked", () => asked.length === 1);
  loop.quiet = true;
  release();
  await eventually("accepted", () => accepted.length === 1);
  await sleep(50);
  assert.is(asked.length, 1);
  loop.quiet = false;
  await eventually("asks again", () => asked.length > 1);
  await loop.stop();
});

loops("stop resolves when the claim on its way has been accepted", async () => {
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { loop, asked, accepted } = looping(async () => (await held, answer(["late"])));
  await eventually("asked", () => asked.length === 1);
  let stopped = false;
  const stopping = loop.stop().then(() => (stopped = true));
  await sleep(30);
  assert.not.ok(stopped);
  release();
  await stopping;
  assert.equal([asked.length, accepted], [1, ["late"]]);
});

loops("a store that fails is asked more and more rarely, and stop does not wait for that", async () => {
  const { loop, asked } = looping(() => {
    throw new StoreError("unavailable", "down");
  });
  await eventually("asked three times", () => asked.length >= 3);
  const [first, second, third] = asked.map(({ at }) => at);
  assert.ok(second! - first! >= 199, `${second! - first!}`);
  assert.ok(third! - second! >= 399, `${third! - second!}`);
  await loop.stop();
});

loops("where another call finds the store again, it is asked at once", async () => {
  const availability = quiet();
  const { loop, asked } = looping(
    () => {
      throw new StoreError("unavailable", "down");
    },
    { availability },
  );
  // Alone it would wait for minutes until then.
  await eventually("asked forty times", () => {
    availability.succeeded();
    return asked.length >= 40;
  });
  await loop.stop();
});

loops("a sleeper is declared before the last look, and a wake-up ends the sleep", async () => {
  const order: string[] = [];
  let wake!: () => void;
  const { loop, asked } = looping(
    () => {
      order.push("admit");
      return answer([], { asleep: order.includes("declare") });
    },
    {
      ...rarely,
      wakeups: {
        declareSleep: async () => void order.push("declare"),
        wait: (_timeout, signal) =>
          new Promise((resolve) => {
            order.push("sleep");
            wake = () => resolve("default");
            signal.addEventListener("abort", () => resolve(null));
          }),
      },
    },
  );
  await eventually("sleeps", () => order.includes("sleep"));
  assert.equal(order, ["admit", "declare", "admit", "sleep"]);
  wake();
  await eventually("asked again", () => asked.length === 3);
  // The declaration still stands: one look is enough.
  await eventually("sleeps again", () => order.length === 6);
  assert.equal(order.slice(4), ["admit", "sleep"]);
  await loop.stop();
});

interface Sleeping extends Watched {
  /** What the loop has done, in order. */
  readonly order: string[];
  readonly wake: () => void;
}

/**
 * A loop that is asked for so many jobs, admission by admission, and sleeps until it is woken; the store takes it for awake
 * from the admission of that number on, until it declares again.
 */
async function sleeping(claims: readonly number[], capacity: number, endedBy?: number): Promise<Sleeping> {
  const order: string[] = [];
  let asleep = false;
  let wake = (): void => undefined;
  const watched = looping(
    (call) => {
      order.push("admit");
      if (call === endedBy) asleep = false;
      return answer(
        Array.from({ length: claims[call - 1] ?? 0 }, (_, at) => `job ${call} ${at}`),
        { asleep },
      );
    },
    {
      ...rarely,
      freeSlots: () => capacity,
      wakeups: {
        async declareSleep() {
          order.push("declare");
          asleep = true;
        },
        wait: (_timeout, signal) =>
          new Promise((resolve) => {
            order.push("sleep");
            wake = () => resolve("default");
            signal.addEventListener("abort", () => resolve(null));
          }),
      },
    },
  );
  await eventually("sleeps", () => order.includes("sleep"));
  return { ...watched, order, wake: () => wake() };
}

for (const [what, claimed, capacity, endedBy, then] of [
  ["a claim may leave it declared asleep", 1, 4, undefined, ["admit", "admit", "sleep"]],
  ["a claim that ends its declaration", 2, 4, 3, ["admit", "declare", "admit", "sleep"]],
  ["one that takes all it may", 1, 1, 3, ["admit", "admit", "declare", "admit", "sleep"]],
  ["a declaration that is gone by itself", 0, 4, 3, ["admit", "declare", "admit", "sleep"]],
] as const) {
  loops(what, async () => {
    const { loop, order, wake } = await sleeping([0, 0, claimed], capacity, endedBy);
    const before = order.length;
    wake();
    await eventually("sleeps again", () => order.slice(before).includes("sleep"));
    await loop.stop();
    assert.equal(order.slice(before), then);
  });
}

loops("a wake-up of a job that was claimed before makes the next one no later", async () => {
  const { random } = Math;
  // Whoever spreads out would do so for longer than this test waits.
  Math.random = () => 100_000;
  try {
    const { loop, asked, order, wake } = await sleeping([0, 0, 1, 0, 0, 1], 4);
    for (const admissions of [4, 5, 7]) {
      wake();
      await eventually("sleeps again", () => asked.length === admissions && order.at(-1) === "sleep");
    }
    await loop.stop();
  } finally {
    Math.random = random;
  }
});

loops("a wake-up that can't be waited for is a poll", async () => {
  const { loop, asked } = looping(() => answer([]), {
    poll: { min: 5, max: 5 },
    wakeups: { declareSleep: () => Promise.resolve(), wait: () => Promise.reject(new Error("deaf")) },
  });
  await eventually("polls", () => asked.length > 5);
  await loop.stop();
});

loops.run();
