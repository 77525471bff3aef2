import { milliseconds } from "../duration.js";
import type { KnownTask } from "../tasks/registry.js";
import type { JobContext } from "./context.js";

interface Member {
  readonly payload: unknown;
  readonly job: JobContext;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Gathers jobs of one kind for its batch handler, and gives each member its own result. */
export class Batches {
  readonly #task: KnownTask;
  readonly #maxSize: number;
  readonly #maxDelayMs: number;
  #members: Member[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(task: KnownTask) {
    this.#task = task;
    this.#maxSize = Math.max(1, task.batch?.maxSize ?? 100);
    this.#maxDelayMs = milliseconds(task.batch?.maxDelay ?? 0, "maxDelay");
  }

  /** Resolves or rejects as this member of the batch has fared. */
  join(payload: unknown, job: JobContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#members.push({ payload, job, resolve, reject });
      if (this.#members.length >= this.#maxSize) this.#begin();
      // The delay counts from the first member and is never extended.
      else this.#timer ??= setTimeout(() => this.#begin(), this.#maxDelayMs);
    });
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const members = this.#members.filter((member) => {
      if (member.job.signal.aborted) member.reject(member.job.signal.reason);
      return !member.job.signal.aborted;
    });
    this.#members = [];
    if (members.length > 0) void this.#run(members);
  }

  async #run(members: readonly Member[]): Promise<void> {
    try {
      const results = await this.#task.batchHandler?.(members.map(({ payload, job }) => ({ payload, job })));
      if (!Array.isArray(results) || results.length !== members.length) {
        const got = Array.isArray(results) ? `${results.length} results` : "no list";
        throw new TypeError(
          `the batch handler of ${this.#task.kind} answered ${members.length} jobs with ${got}`,
        );
      }
      members.forEach((member, at) => {
        const result: unknown = results[at];
        if (result instanceof Error) member.reject(result);
        else member.resolve(result);
      });
    } catch (error) {
      for (const member of members) member.reject(error);
    }
  }
}
