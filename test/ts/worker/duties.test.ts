import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Availability } from "../../../src/worker/availability.js";
import { Duties } from "../../../src/worker/duties.js";
import { eventually } from "../support/eventually.js";

const duties = suite("duties of a worker");

const none = (): undefined => undefined;

function build(run: (duty: string) => Promise<{ error: string | null } | undefined>): {
  duties: Duties;
  released: string[];
  failed: string[];
} {
  const released: string[] = [];
  const failed: string[] = [];
  const made = new Duties({
    names: () => Promise.resolve(["first", "second"]),
    run,
    release: (duty) => Promise.resolve(void released.push(duty)),
    availability: new Availability(none, none),
    failed: (duty, error) => failed.push(`${duty}: ${error}`),
  });
  return { duties: made, released, failed };
}

duties("one that is resigned while it runs is given up as well", async () => {
  let answer: (did: { error: null }) => void = none;
  const { duties: made, released } = build(() => new Promise((resolve) => (answer = resolve)));
  await eventually("the first runs", () => answer !== none);
  const resigned = made.resign();
  await resigned;
  assert.equal(released, []);
  answer({ error: null });
  await eventually("it is given up", () => released.length > 0);
  assert.equal(released, ["first"]);
  await made.stop();
});

duties("one that fails is told once, and holds up no other", async () => {
  const ran: string[] = [];
  const { duties: made, failed } = build((duty) => {
    ran.push(duty);
    return Promise.resolve({ error: duty === "first" ? "no" : null });
  });
  await eventually("both ran twice", () => ran.length >= 4);
  await made.stop();
  assert.equal(ran.slice(0, 4), ["first", "second", "first", "second"]);
  assert.equal(failed, ["first: no"]);
});

duties("one that somebody else has is neither held nor released", async () => {
  let asked = 0;
  const { duties: made, released } = build(() => (asked++, Promise.resolve(undefined)));
  await eventually("both were asked for", () => asked >= 2);
  await made.stop();
  assert.equal(released, []);
});

duties.run();
