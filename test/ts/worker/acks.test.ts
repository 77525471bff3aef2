import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { StoreError, type Ack, type AckResult } from "../../../src/index.js";
import { AckQueue } from "../../../src/worker/acks.js";
import { attemptOf, quiet } from "./fakes.js";

const acks = suite("acks");

interface Heard {
  readonly batches: Ack[][];
  readonly told: string[];
  readonly queue: AckQueue;
}

/** A queue in front of a store that answers as it is told. */
function queueTo(answer: (batch: readonly Ack[], call: number) => Promise<AckResult[]> | AckResult[]): Heard {
  const batches: Ack[][] = [];
  const told: string[] = [];
  const queue = new AckQueue({
    async ackMany(batch) {
      batches.push([...batch]);
      return answer(batch, batches.length);
    },
    availability: quiet(),
    settled: ({ claim }, outcome, state) => void told.push(`${claim.id} ${outcome.type} ${state}`),
    rejected: ({ claim }, uncertain) => void told.push(`${claim.id} rejected${uncertain ? "?" : ""}`),
    givenUp: ({ claim }) => void told.push(`${claim.id} given up`),
  });
  return { batches, told, queue };
}

const recorded = (batch: readonly Ack[]): AckResult[] =>
  batch.map(({ jobId }) => ({ jobId, rejected: false, state: "completed" }));
const success = { type: "success" } as const;
const unavailable = new StoreError("unavailable", "no answer");
const invalid = new StoreError("invalid", "too much");
const broken = new StoreError("backend", "a trigger failed");

acks("one goes at once; those that come meanwhile go together", async () => {
  const { batches, told, queue } = queueTo(async (batch) => (await sleep(20), recorded(batch)));
  const first = queue.push(attemptOf("a"), success);
  await sleep(5);
  const rest = ["b", "c", "d"].map((id) => queue.push(attemptOf(id), success));
  assert.is(queue.size, 4);
  await Promise.all([first, ...rest]);
  assert.equal(
    batches.map((batch) => batch.map(({ jobId }) => jobId)),
    [["a"], ["b", "c", "d"]],
  );
  assert.is(told.length, 4);
  assert.is(queue.size, 0);
  await queue.drained();
});

acks("an answer that was lost makes a rejection uncertain, and no other", async () => {
  const { told, queue } = queueTo((batch, call) => {
    if (call === 1) throw unavailable;
    return batch.map(({ jobId }) => ({ jobId, rejected: true, state: null }));
  });
  const lost = queue.push(attemptOf("lost"), success);
  await sleep(10);
  assert.ok(queue.failing);
  await lost;
  assert.not.ok(queue.failing);
  await queue.push(attemptOf("late"), success);
  assert.equal(told, ["lost rejected?", "late rejected"]);
});

acks("while nobody answers they are tried until their leases have run out", async () => {
  let up = false;
  const { told, queue } = queueTo((batch) => {
    if (!up) throw unavailable;
    return recorded(batch);
  });
  const short = queue.push(attemptOf("short", 100), success);
  const long = queue.push(attemptOf("long", 60_000), success);
  await short;
  assert.equal(told, ["short given up"]);
  assert.ok(queue.failing);
  up = true;
  await long;
  assert.equal(told, ["short given up", "long success completed"]);
  assert.not.ok(queue.failing);
});

acks("one that the store can't settle holds up no other, and is given up in the end", async () => {
  const { batches, told, queue } = queueTo((batch) => {
    if (batch.some(({ jobId }) => jobId === "poison")) throw broken;
    return recorded(batch);
  });
  const others = ["a", "b", "c"].map((id) => attemptOf(id));
  const poison = queue.push(attemptOf("poison"), success);
  const rest = others.map((attempt) => queue.push(attempt, success));
  await Promise.all(rest);
  assert.equal(told, ["a success completed", "b success completed", "c success completed"]);
  await poison;
  assert.is(told[3], "poison given up");
  assert.not.ok(queue.failing);
  assert.ok(batches.length < 20, `${batches.length} calls`);
});

acks("an end that is refused is a failed attempt, and goes bare", async () => {
  const attempt = attemptOf("a");
  attempt.actualWeight = 5;
  attempt.log("line");
  const { batches, told, queue } = queueTo((batch) => {
    if (batch[0]?.outcome !== "retry") throw invalid;
    return recorded(batch);
  });
  await queue.push(attempt, { type: "success", result: Buffer.alloc(1) });
  assert.equal(told, ["a retry completed"]);
  const [, retry] = batches.map(([ack]) => ack);
  assert.match(retry?.error ?? "", /the end of the attempt \(success\) was refused: too much/);
  assert.equal([retry?.logs, retry?.actualWeight, retry?.result], [undefined, undefined, undefined]);
});

acks("one that is refused even so is given up; its neighbours are not", async () => {
  const { told, queue } = queueTo((batch) => {
    if (batch.some(({ jobId }) => jobId === "bad")) throw invalid;
    return recorded(batch);
  });
  await Promise.all(["a", "bad", "b"].map((id) => queue.push(attemptOf(id), { type: "snooze", delayMs: 1 })));
  assert.equal(told.sort(), ["a snooze completed", "b snooze completed", "bad given up"]);
});

acks("large results go in several batches", async () => {
  const { batches, queue } = queueTo(recorded);
  const result = Buffer.alloc(7 * 1024 * 1024);
  await Promise.all(["a", "b", "c"].map((id) => queue.push(attemptOf(id), { type: "success", result })));
  assert.equal(
    batches.map((batch) => batch.length),
    [2, 1],
  );
});

acks("drained waits for what comes while it waits", async () => {
  const { told, queue } = queueTo(async (batch) => (await sleep(10), recorded(batch)));
  void queue.push(attemptOf("a"), success).then(() => queue.push(attemptOf("b"), success));
  await queue.drained();
  await sleep(30);
  assert.is(told.length, 2);
});

acks.run();
