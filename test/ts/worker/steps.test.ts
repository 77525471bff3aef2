import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CheckpointStaleError } from "../../../src/index.js";
import type { Checkpoint } from "../../../src/index.js";
import { Steps } from "../../../src/worker/steps.js";

const steps = suite("steps");

/** A store that keeps the last checkpoint, as SQL gives it back. */
class Shelf {
  stored: Record<string, unknown> | null = null;
  cursor: Uint8Array | null = null;
  writes = 0;
  refuse = false;

  /** The steps of a new attempt, from what is stored. */
  attempt(): Steps {
    return new Steps("j1", this.stored, this.cursor, (checkpoint) => this.save(checkpoint));
  }

  async save({ inProgress, cursor, ...rest }: Checkpoint): Promise<void> {
    await sleep(1);
    if (this.refuse) throw new Error("out of reach");
    this.writes++;
    this.stored = JSON.parse(JSON.stringify({ ...rest, in_progress: inProgress })) as Record<string, unknown>;
    this.cursor = cursor ?? null;
  }
}

const fails = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => {
      throw new Error("did not fail");
    },
    (error: unknown) => error as Error,
  );

steps("a step is durable before it begins and when it has ended", async () => {
  const shelf = new Shelf();
  const before: unknown[] = [];
  const result = await shelf.attempt().run("one", () => {
    before.push(shelf.stored);
    return { n: 1 };
  });
  assert.equal(result, { n: 1 });
  assert.equal(before, [{ completed: [], in_progress: "one", started: ["one"], results: {} }]);
  assert.equal(shelf.stored, {
    completed: ["one"],
    in_progress: null,
    started: ["one"],
    results: { one: { n: 1 } },
  });
});

steps("a step whose beginning can't be recorded is not begun", async () => {
  const shelf = new Shelf();
  shelf.refuse = true;
  let ran = false;
  await fails(shelf.attempt().run("one", () => (ran = true)));
  assert.not.ok(ran);
});

steps("what has ended is skipped by the next attempt; what was begun is run again", async () => {
  const shelf = new Shelf();
  const ran: string[] = [];
  const handler = async (attempt: Steps, dies: boolean): Promise<number[]> => {
    const a = await attempt.run("a", () => (ran.push("a"), 1));
    const b = await attempt.run("b", () => {
      ran.push("b");
      if (dies) throw new Error("died");
      return 2;
    });
    return [a, b];
  };
  await fails(handler(shelf.attempt(), true));
  assert.is(shelf.stored?.["in_progress"], "b");
  const next = shelf.attempt();
  assert.equal(await handler(next, false), [1, 2]);
  next.finish();
  assert.equal(ran, ["a", "b", "b"]);
});

steps("names that JavaScript objects know are names like others", async () => {
  const shelf = new Shelf();
  const names = ["__proto__", "constructor", "toString", ""];
  const attempt = shelf.attempt();
  for (const name of names) await attempt.run(name, () => (name === "toString" ? undefined : `of ${name}`));
  const next = shelf.attempt();
  const unreachable = (): never => {
    throw new Error("ran again");
  };
  const replayed: unknown[] = [];
  for (const name of names) replayed.push(await next.run<unknown>(name, unreachable));
  assert.equal(replayed, ["of __proto__", "of constructor", undefined, "of "]);
});

steps("a name is used once in an attempt", async () => {
  const attempt = new Shelf().attempt();
  await attempt.run("a", () => 1);
  assert.match((await fails(attempt.run("a", () => 2))).message, /"a" is used twice/);
});

steps("a result without a form in JSON is refused, and the step has not ended", async () => {
  const shelf = new Shelf();
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const result of [circle, 10n, () => 1, Symbol("s")]) {
    const error = await fails(shelf.attempt().run("a", () => result));
    assert.match(error.message, /result of step "a" can't be recorded/);
  }
  assert.equal(shelf.stored?.["completed"], []);
});

steps("another set of steps is stale: a new step before a recorded one, and an end without it", async () => {
  const shelf = new Shelf();
  const first = shelf.attempt();
  await first.run("old", () => 1);
  await first.run("older", () => 1);
  const writes = shelf.writes;
  let ran = false;
  const error = await fails(shelf.attempt().run("new", () => (ran = true)));
  assert.instance(error, CheckpointStaleError);
  assert.match(error.message, /completed the steps old, older; step "new" was not there/);
  assert.not.ok(ran);
  const half = shelf.attempt();
  await half.run("older", () => 1);
  assert.throws(() => half.finish(), /the handler has ended when this attempt had not come by old/);
  assert.is(shelf.writes, writes);
  const added = shelf.attempt();
  await added.run("old", () => 1);
  await added.run("older", () => 1);
  assert.is(await added.run("new", () => 2), 2);
  added.finish();
});

steps("steps side by side lose nothing of each other, nor of the cursor", async () => {
  const shelf = new Shelf();
  const attempt = shelf.attempt();
  const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
  await Promise.all([
    ...names.map((name, n) => attempt.run(name, () => sleep(n % 5).then(() => n))),
    ...[1, 2, 3].map((n) => attempt.saveCursor(Buffer.from(String(n)))),
  ]);
  assert.equal([...(shelf.stored?.["completed"] as string[])].sort(), [...names].sort());
  assert.is(Buffer.from(shelf.cursor ?? []).toString(), "3");
  assert.is(shelf.stored?.["in_progress"], null);
  const next = shelf.attempt();
  const replayed = await Promise.all(names.map((name) => next.run(name, () => -1)));
  assert.equal(
    replayed,
    names.map((_, n) => n),
  );
  assert.is(Buffer.from(next.cursor ?? []).toString(), "3");
});

steps("an end that is not durable has not happened: later writes do not tell of it", async () => {
  const shelf = new Shelf();
  const attempt = shelf.attempt();
  await attempt.begin("effect");
  await fails(attempt.end("effect", undefined, () => Promise.reject(new Error("rolled back"))));
  await attempt.run("next", () => 1);
  await attempt.saveCursor(Buffer.from("x"));
  assert.equal(shelf.stored?.["completed"], ["next"]);
  shelf.refuse = true;
  await fails(attempt.saveCursor(Buffer.from("y")));
  assert.is(Buffer.from(attempt.cursor ?? []).toString(), "x");
});

steps("what the reclaimer counted stays", async () => {
  const shelf = new Shelf();
  shelf.stored = { completed: [], in_progress: "a", crashes: { a: 2 } };
  await shelf.attempt().run("a", () => 1);
  assert.equal(shelf.stored?.["crashes"], { a: 2 });
});

steps("a checkpoint of another form is stale, one without steps is not", async () => {
  const wrong = [
    { completed: 5 },
    { completed: [1] },
    { completed: [], started: "a" },
    { in_progress: 7 },
    { results: [] },
    { results: "x" },
  ];
  for (const checkpoint of wrong) {
    assert.throws(
      () => new Steps("j1", checkpoint, null, () => Promise.resolve()),
      (error: unknown) => error instanceof CheckpointStaleError,
      JSON.stringify(checkpoint),
    );
  }
  for (const checkpoint of [null, {}, { page: 3 }, { in_progress: null }])
    new Steps("j1", checkpoint, null, () => Promise.resolve()).finish();
});

steps.run();
