import type { ClientConfig } from "pg";
import { StoreCore } from "./core.js";
import { invalid } from "./errors.js";
import { Listener, type ListenTiming } from "./listener.js";
import { Wakeups } from "./wakeups.js";

/** Wake-ups, as far as this store has them. */
export interface Notifying {
  waitWakeup(queues: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<string | null>;
  /** Whether a session stands that listens; without one wake-ups are late, and polling goes on. */
  readonly listening: boolean;
  /** When the session answered last, by the clock of this machine. */
  readonly lastHeartbeatAtMs: number | null;
  /** Why the last session ended or did not begin. */
  readonly lastError: unknown;
}

const ears = new WeakMap<ListenRoom, { readonly listener: Listener; readonly wakeups: Wakeups }>();

/** Being told of new work instead of asking for it. Without a listening connection a store can only be polled. */
export abstract class ListenRoom extends StoreCore {
  /**
   * Gives the store a connection of its own beside the pool, which is opened at the first `waitWakeup` and restored
   * whenever it is lost. It must lead to the server itself, or to a pooler in session mode.
   */
  withListen(connection: string | ClientConfig, timing?: ListenTiming): this {
    if (ears.has(this)) throw invalid("listen", "is set already", "one listening connection a store");
    const config = typeof connection === "string" ? { connectionString: connection } : connection;
    const wakeups = new Wakeups();
    let known: string | undefined;
    const listener = new Listener(
      { fallback_application_name: "headrace listen", ...config },
      // It never changes; asking again would cost a second connection attempt in an outage.
      async () => (known ??= await this.value<string>("channel")),
      (queue) => wakeups.wake(queue),
      timing,
    );
    ears.set(this, { listener, wakeups });
    return this;
  }

  /** Wake-ups, or undefined where the store has no listening connection. */
  get notifying(): Notifying | undefined {
    const listener = ears.get(this)?.listener;
    if (!listener) return undefined;
    return {
      waitWakeup: (queues, timeoutMs, signal) => this.waitWakeup(queues, timeoutMs, signal),
      get listening() {
        return listener.listening;
      },
      get lastHeartbeatAtMs() {
        return listener.lastHeartbeatAtMs;
      },
      get lastError() {
        return listener.lastError;
      },
    };
  }

  /**
   * Waits for work in one of the queues (none named: in any) and answers with its queue; with "" for "poll now", after the
   * connection was made or restored; with null when the time is over, the signal aborts, or the store closes. A wake-up for
   * nothing is possible, and so is a missed one: whoever waits must also poll.
   *
   * @throws StoreError `invalid` where the store has no listening connection.
   */
  async waitWakeup(
    queues: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<string | null> {
    const own = ears.get(this);
    if (!own) {
      throw invalid(
        "listen",
        "is off: this store can only be polled",
        "withListen, or connect with listen: true",
      );
    }
    own.listener.start();
    return own.wakeups.wait(queues, timeoutMs, signal);
  }

  /** Ends the listening connection and every wait. */
  protected async stopListening(): Promise<void> {
    const own = ears.get(this);
    own?.wakeups.close();
    await own?.listener.close();
  }
}
