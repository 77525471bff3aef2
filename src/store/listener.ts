import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClientConfig } from "pg";
import pgListen from "pg-listen";

/** How a listening session is kept. */
export interface ListenTiming {
  /** Between two questions whether the session still stands. @defaultValue 10000 */
  readonly heartbeatMs?: number;
  /** How long the answer to one may take, and a connect. @defaultValue 5000 */
  readonly answerMs?: number;
  /** Before the first new try after a loss; doubles up to `maxRetryMs`, and up to half of it more. @defaultValue 1000 */
  readonly minRetryMs?: number;
  /** @defaultValue 5000 */
  readonly maxRetryMs?: number;
}

/**
 * One connection of its own that listens on one channel, whose payloads are names of queues. It is a hint and nothing
 * more: it may stay silent, or wake somebody for nothing.
 *
 * Each session is a pg-listen subscriber that is used for one connection. By itself it would stop trying after a while, go
 * deaf when a connection is lost during LISTEN, and leak one when it is closed while it reconnects; so it is told not to
 * reconnect, and a lost session is followed by a new subscriber here.
 */
export class Listener {
  readonly #config: ClientConfig;
  readonly #channel: () => Promise<string>;
  readonly #wake: (queue: string) => void;
  readonly #timing: Required<ListenTiming>;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #listening = false;
  #lastHeartbeatAtMs: number | null = null;
  #lastError: unknown;

  /**
   * @param channel asked before each session.
   * @param wake gets the name of a queue, or "" for "poll now": what was notified until then is lost.
   */
  constructor(
    config: ClientConfig,
    channel: () => Promise<string>,
    wake: (queue: string) => void,
    timing: ListenTiming = {},
  ) {
    this.#config = config;
    this.#channel = channel;
    this.#wake = wake;
    this.#timing = { heartbeatMs: 10_000, answerMs: 5_000, minRetryMs: 1_000, maxRetryMs: 5_000, ...timing };
  }

  /** Whether a session stands that listens. */
  get listening(): boolean {
    return this.#listening;
  }

  /** When the session answered last, by the clock of this machine. */
  get lastHeartbeatAtMs(): number | null {
    return this.#lastHeartbeatAtMs;
  }

  /** Why the last session ended or did not begin. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Begins to listen and goes on, whatever happens, until it is closed. */
  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const { minRetryMs, maxRetryMs } = this.#timing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const channel = await this.#channel();
        if (signal.aborted) return;
        await this.#session(channel, () => (failures = 0));
      } catch (error) {
        this.#lastError = error;
      }
      const delayMs = Math.min(maxRetryMs, minRetryMs * 2 ** failures) * (1 + Math.random() / 2);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the listener is closed; throws when the connection is lost. */
  async #session(channel: string, onListening: () => void): Promise<void> {
    const { heartbeatMs, answerMs } = this.#timing;
    const { signal } = this.#closing;
    const socket = new Socket();
    let end: (reason?: Error) => void = () => undefined;
    const ended = new Promise<void>((resolve, reject) => {
      end = (reason) => (reason ? reject(reason) : resolve());
    });
    const onAbort = (): void => end();
    let backend: string | undefined;
    const subscriber = pgListen.default(
      {
        ...this.#config,
        stream: () => socket,
        keepAliveInitialDelayMillis: heartbeatMs,
        connectionTimeoutMillis: answerMs,
        query_timeout: answerMs,
        types: {
          // The answer to pg-listen's heartbeat, which asks for pg_backend_pid().
          getTypeParser: () => (pid: string) => {
            this.#lastHeartbeatAtMs = Date.now();
            backend ??= pid;
            if (pid !== backend) end(new Error("a pooler changes sessions: LISTEN has no effect"));
            return pid;
          },
        },
      },
      // One try less than this, so none.
      { parse: (payload) => payload, paranoidChecking: heartbeatMs, retryLimit: 1 },
    );
    subscriber.events.on("error", end);
    subscriber.events.on("notification", ({ payload }) =>
      this.#wake(typeof payload === "string" ? payload : ""),
    );
    signal.addEventListener("abort", onAbort);
    try {
      const begun = subscriber.connect().then(() => subscriber.listenTo(channel));
      await Promise.race([begun, ended]);
      if (signal.aborted) return;
      onListening();
      this.#listening = true;
      this.#lastHeartbeatAtMs = Date.now();
      this.#wake("");
      await ended;
    } catch (error) {
      // Who sees that nobody listens must see why, and the goodbye below takes its time.
      this.#lastError = error;
      throw error;
    } finally {
      this.#listening = false;
      signal.removeEventListener("abort", onAbort);
      // The goodbye may never be answered.
      await Promise.race([subscriber.close(), sleep(100)]).catch(() => undefined);
      socket.destroy();
    }
  }
}
