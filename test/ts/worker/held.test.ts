import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { JobContext, jsonLogger, LeaseLostError, StoreError, type LeaseRef } from "../../../src/index.js";
import type { ContextServices } from "../../../src/worker/context-services.js";
import { HeldLeases } from "../../../src/worker/held.js";
import { Semaphore } from "../../../src/worker/semaphore.js";
import { monotonicMs } from "../../../src/worker/timing.js";
import { eventually } from "../support/eventually.js";
import { attemptOf, quiet } from "./fakes.js";

const held = suite("held leases");

interface Watched {
  readonly leases: HeldLeases;
  readonly asked: string[][];
  readonly lost: string[];
}

function holding(
  leaseMs: number,
  answer: (leases: readonly LeaseRef[], call: number) => Promise<readonly string[]> | readonly string[],
): Watched {
  const asked: string[][] = [];
  const lost: string[] = [];
  const leases = new HeldLeases({
    async renew(list) {
      asked.push(list.map(({ jobId }) => jobId));
      return answer(list, asked.length);
    },
    leaseMs,
    availability: quiet(),
    lost: ({ claim }) => void lost.push(claim.id),
    failed: () => undefined,
  });
  return { leases, asked, lost };
}

held("all are renewed together, and those that are refused are lost, no others", async () => {
  const { leases, asked, lost } = holding(300, (list) =>
    list.map(({ jobId }) => jobId).filter((id) => id === "b" || id === "acking"),
  );
  const attempts = ["a", "b", "acking", "c"].map((id) => attemptOf(id, 300));
  for (const attempt of attempts) leases.add(attempt);
  // Its ack is on its way, and decides.
  attempts[2]!.acking = true;
  await eventually("renewed twice", () => asked.length >= 2);
  await leases.stop();
  assert.equal(asked[0], ["a", "b", "acking", "c"]);
  assert.equal(asked[1], ["a", "acking", "c"]);
  assert.equal(lost, ["b"]);
  assert.ok(attempts[1]!.abort.signal.reason instanceof LeaseLostError);
  assert.ok(attempts[1]!.over && !attempts[0]!.over && !attempts[2]!.over);
  assert.ok(attempts[0]!.leaseEndsAt > monotonicMs() + 100);
});

held("a renewal that fails is tried again before the lease is given up", async () => {
  const { leases, asked, lost } = holding(600, (_, call) => {
    if (call <= 2) throw new StoreError("unavailable", "cut");
    return [];
  });
  const attempt = attemptOf("a", 600);
  leases.add(attempt);
  await eventually("tried again", () => asked.length >= 3);
  await leases.stop();
  assert.equal(lost, []);
  assert.not.ok(attempt.abort.signal.aborted);
});

held(
  "while nobody answers, each is lost when its own lease has run out, except one whose ack is on its way",
  async () => {
    const { leases, lost } = holding(200, () => {
      throw new StoreError("unavailable", "down");
    });
    const [short, long, acking] = [
      attemptOf("short", 200),
      attemptOf("long", 60_000),
      attemptOf("acking", 200),
    ];
    acking.acking = true;
    for (const attempt of [short, long, acking]) leases.add(attempt);
    await eventually("the short one is lost", () => lost.length > 0);
    await sleep(100);
    assert.equal(lost, ["short"]);
    for (const attempt of [long, acking]) leases.remove(attempt);
    await leases.stop();
  },
);

held("an answer that does not come is a failure, and the next try may bring it", async () => {
  const { leases, asked, lost } = holding(300, (_, call) =>
    call === 1 ? new Promise<string[]>(() => undefined) : [],
  );
  leases.add(attemptOf("a", 1200));
  await eventually("asked again", () => asked.length >= 2);
  await leases.stop();
  assert.equal(lost, []);
});

held("a job that is claimed again has been lost before", async () => {
  const { leases, lost } = holding(60_000, () => []);
  const [before, now] = [attemptOf("a"), attemptOf("a")];
  leases.add(before);
  leases.add(now);
  assert.equal(lost, ["a"]);
  assert.ok(before.abort.signal.aborted && !now.abort.signal.aborted);
  leases.remove(before);
  assert.is(leases.size, 1);
  leases.lose(now);
  leases.lose(now);
  assert.equal(lost, ["a", "a"]);
  await leases.stop();
});

held("a lease that its handler made longer is left alone", async () => {
  const { leases, asked } = holding(200, () => []);
  const long = attemptOf("long", 60_000);
  leases.add(long);
  leases.add(attemptOf("short", 200));
  await eventually("renewed", () => asked.length >= 2);
  await leases.stop();
  assert.ok(asked.every((ids) => ids.join() === "short"));
});

held("a renewal that finds no lease while its handler commits the completion is no loss", async () => {
  const { leases, asked, lost } = holding(150, (list) => list.map(({ jobId }) => jobId));
  const commits: (() => Promise<void>)[] = [
    async () => {
      const before = asked.length;
      await eventually("a renewal was answered", () => asked.length > before);
      await sleep(20);
    },
    () => Promise.reject(new Error("the commit failed")),
  ];
  for (const [at, commit] of commits.entries()) {
    const attempt = attemptOf(`j${at}`, 60_000);
    attempt.leaseEndsAt = monotonicMs() + 100;
    const tx = { finished: false, commit, rollback: () => Promise.resolve(), client: {} };
    const store = {
      begin: () => Promise.resolve(tx),
      claimEffect: () => Promise.resolve(true),
      completeTx: () => Promise.resolve("deleted"),
    };
    const job = new JobContext(attempt, {}, {
      store,
      client: {},
      logger: jsonLogger("silent"),
      transactions: new Semaphore(1),
      lose: () => assert.unreachable(),
      completed: () => leases.remove(attempt),
    } as unknown as ContextServices);
    leases.add(attempt);
    const ended = await job.once(() => Promise.resolve()).catch(String);
    assert.is(String(ended), at === 0 ? "true" : "Error: the commit failed");
    assert.equal(
      [attempt.completed, attempt.acking, attempt.over],
      [at === 0 ? "deleted" : undefined, false, false],
    );
    leases.remove(attempt);
  }
  assert.equal(lost, []);
  await leases.stop();
});

held.run();
