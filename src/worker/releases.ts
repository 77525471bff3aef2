import { Abort } from "./abort.js";
import type { Attempt } from "./attempt.js";
import { monotonicMs, pause } from "./timing.js";

/** Jobs to remember; one that is forgotten begins anew. */
const most = 10_000;
/** A job that comes back so much later than it had to is not one that goes round. */
const slackMs = 10_000;

export interface ReleasesOptions {
  /** The wait before a job is handed back for the second time in a row; doubled from `min` to `max`, in ms. */
  readonly poll: { readonly min: number; readonly max: number };
}

/**
 * Jobs that their handlers hand back. Such a job is the next to be claimed, and a handler that always does it would keep
 * worker and store busy with nothing else: from its second time in a row on, a job is held for a while before it goes back.
 */
export class Releases {
  readonly #poll: ReleasesOptions["poll"];
  readonly #seen = new Map<string, { readonly times: number; readonly at: number }>();
  readonly #held = new Set<Abort>();
  #closed = false;

  constructor({ poll }: ReleasesOptions) {
    this.#poll = poll;
  }

  /** Resolves when the attempt may go back; at once where it is told to stop, or the worker is. */
  async pace({ claim, abort }: Attempt): Promise<void> {
    const delayMs = this.#delayMs(claim.id);
    if (delayMs === 0 || this.#closed || abort.aborted) return;
    const over = new Abort();
    const stop = (): void => over.abort();
    this.#held.add(over);
    abort.addEventListener("abort", stop);
    await pause(delayMs, over);
    abort.removeEventListener("abort", stop);
    this.#held.delete(over);
  }

  /** Nothing is held any more. */
  close(): void {
    this.#closed = true;
    for (const over of this.#held) over.abort();
  }

  #delayMs(id: string): number {
    const { min, max } = this.#poll;
    const before = this.#seen.get(id);
    const at = monotonicMs();
    const times = before && at - before.at < 2 * max + slackMs ? before.times + 1 : 0;
    // To the end of the line: those that were not seen for longest are forgotten first.
    this.#seen.delete(id);
    this.#seen.set(id, { times, at });
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= most) break;
      this.#seen.delete(oldest);
    }
    return times === 0 ? 0 : Math.min(min * 2 ** (times - 1), max);
  }
}
