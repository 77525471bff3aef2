import type { Job } from "../../src/index.js";
import { Random } from "./random.js";

export const leaseMs = 2_000;

/** Jobs of a partition of `capped` that may run at the same time. */
export const ceiling = 2;

export const queues = ["plain", "capped", "rated"] as const;

export interface SoakPayload {
  readonly n: number;
  /** Attempts that fail before one may succeed. */
  readonly failures?: number;
  /** How long it works. */
  readonly ms?: number;
}

/** By kind, the effects that a job must have had in the end, each once. */
export const effectsOf: Readonly<Record<string, readonly string[]>> = {
  once: ["done"],
  flaky: ["done"],
  batch: ["done"],
  blocking: ["done"],
  capped: ["done"],
  rated: ["done"],
  order: ["done"],
  manual: ["done"],
  steps: ["first", "second"],
};

const commonKinds = ["once", "flaky", "batch", "capped", "rated", "order", "manual", "steps"];

/** The n-th job of a seed: always the same one, so that it can be sent again. */
export function jobOf(seed: number, n: number): Job {
  const random = new Random(Math.imul(seed, 2_654_435_761) + n);
  // Rare, since it holds up everything else in its process.
  const kind = random.next() < 0.01 ? "blocking" : random.pick(commonKinds);
  const payload: SoakPayload = {
    n,
    ...(kind === "flaky" && { failures: random.whole(1, 3) }),
    ...(kind !== "batch" && { ms: random.next() < 0.2 ? random.whole(200, 1_500) : random.whole(0, 100) }),
  };
  return {
    id: `${kind}-${n}`,
    kind,
    payload,
    queue: kind === "capped" || kind === "rated" ? kind : "plain",
    partitionKey: `tenant-${random.whole(0, 4)}`,
    priority: random.pick([0, 0, 0, 5]),
    ...(kind === "rated" && { rateClass: "soak" }),
    ...(random.next() < 0.1 && { delayMs: random.whole(100, 3_000) }),
    // Half of them vanish when they are done, so that only their effects can tell.
    ...(random.next() < 0.5 && { retentionMs: 86_400_000 }),
  };
}
