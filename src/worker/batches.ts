import type { KnownTask } from "../tasks/registry.js";
import type { AbortLike } from "./abort.js";
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
  readonly #members = new Set<Member>();
  #timer: NodeJS.Timeout | undefined;

  constructor(task: KnownTask) {
    this.#task = task;
  }

  /** Resolves or rejects as this member of the batch has fared. One that is told to stop before the batch begins leaves it. */
  join(payload: unknown, job: JobContext, signal: AbortLike): Promise<unknown> {
    const { maxSize, maxDelayMs } = this.#task.batch;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        if (!this.#members.delete(member)) return;
        if (this.#members.size === 0) this.#rest();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the signal's reason
        reject(signal.reason);
      };
      const member: Member = { payload, job, resolve, reject };
      this.#members.add(member);
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave);
      if (this.#members.size >= maxSize) this.#begin();
      // The delay counts from the first member and is never extended.
      else this.#timer ??= setTimeout(() => this.#begin(), maxDelayMs);
    });
  }

  #begin(): void {
    this.#rest();
    const members = [...this.#members];
    this.#members.clear();
    void this.#run(members);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Never rejects. */
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
