import type { JobState } from "../../src/index.js";

/** One line that is kept up to date on a terminal, and a line a second elsewhere. */
export class Progress {
  readonly #jobs: number;
  readonly #begun = Date.now();
  #shownAt = 0;

  constructor(jobs: number) {
    this.#jobs = jobs;
  }

  show(byState: Readonly<Record<JobState, number>>, done: number, deaths: number): void {
    const seconds = (Date.now() - this.#begun) / 1000;
    const filled = Math.floor((20 * done) / this.#jobs);
    const bar = `${"#".repeat(filled)}${".".repeat(20 - filled)}`;
    const waiting = byState.retryable + byState.scheduled;
    const line =
      `[${bar}] ${done}/${this.#jobs} done, ${byState.running} running, ${waiting} waiting to be tried again, ` +
      `${deaths} workers died, ${seconds.toFixed(0)} s`;
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`);
    else if (Date.now() - this.#shownAt >= 1000) {
      this.#shownAt = Date.now();
      console.log(line);
    }
  }

  say(text: string): void {
    if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
    console.log(text);
  }

  end(): void {
    if (process.stdout.isTTY) process.stdout.write("\n");
  }
}
