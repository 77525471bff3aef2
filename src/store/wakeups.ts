interface Waiter {
  readonly queues: ReadonlySet<string>;
  readonly wake: (queue: string | null) => void;
}

/** Remembered names of queues; more than these become "poll now". */
const maxRemembered = 64;

/** Who waits for which queues, and what came while nobody waited for it. */
export class Wakeups {
  readonly #waiters = new Set<Waiter>();
  readonly #remembered = new Set<string>();
  #closed = false;

  /** The next wake-up of one of the queues (none named: of any), "" for "poll now", null when the time is over. */
  wait(queues: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<string | null> {
    const wanted = new Set(queues);
    for (const queue of this.#remembered) {
      if (!concerns(queue, wanted)) continue;
      this.#remembered.delete(queue);
      return Promise.resolve(queue);
    }
    if (this.#closed || signal?.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const wake = (queue: string | null): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        this.#waiters.delete(waiter);
        resolve(queue);
      };
      const giveUp = (): void => wake(null);
      const waiter: Waiter = { queues: wanted, wake };
      const timer = setTimeout(giveUp, timeoutMs);
      signal?.addEventListener("abort", giveUp);
      this.#waiters.add(waiter);
    });
  }

  /** Wakes everybody whom it concerns; "" concerns all. */
  wake(queue: string): void {
    let heard = false;
    for (const waiter of [...this.#waiters]) {
      if (!concerns(queue, waiter.queues)) continue;
      heard = true;
      waiter.wake(queue);
    }
    if (heard) return;
    this.#remembered.add(queue);
    if (this.#remembered.size > maxRemembered) {
      this.#remembered.clear();
      this.#remembered.add("");
    }
  }

  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiters]) waiter.wake(null);
  }
}

function concerns(queue: string, wanted: ReadonlySet<string>): boolean {
  return queue === "" || wanted.size === 0 || wanted.has(queue);
}
