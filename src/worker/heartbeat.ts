import type { Availability } from "./availability.js";
import { Ticker } from "./timing.js";

export type Command = "quiet" | "resume" | "restart" | "terminate" | "resign";

export interface HeartbeatOptions {
  /** Tells the store how the worker fares; resolves with the command that waits for it. */
  readonly beat: () => Promise<string | null>;
  readonly command: (command: Command) => void;
  readonly unknown: (command: string) => void;
  readonly availability: Availability;
  readonly everyMs: number;
}

const commands: readonly string[] = ["quiet", "resume", "restart", "terminate", "resign"] satisfies Command[];

/** Says regularly that the worker lives, and hears what operators want of it. It keeps no lease alive. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #ticker: Ticker;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#ticker = new Ticker(
      options.everyMs,
      () => this.beat(),
      (error) => options.availability.failed(error),
      0,
    );
  }

  async beat(): Promise<void> {
    const { beat, command, unknown } = this.#options;
    const heard = await beat();
    if (heard === null) return;
    if (commands.includes(heard)) command(heard as Command);
    else unknown(heard);
  }

  stop(): Promise<void> {
    return this.#ticker.stop();
  }
}
