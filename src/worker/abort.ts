/** What whoever waits needs to know of who may end the wait; an AbortSignal has it, and so has an `Abort`. */
export interface AbortLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * An AbortController that has a signal only once somebody asks for it. Most handlers never do, and a signal costs more than
 * all else that is made for a job.
 */
export class Abort implements AbortLike {
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;
  /** Few are ever there. */
  #listeners: (() => void)[] | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** For code that is not ours. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Only the first call counts. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners;
    this.#listeners = undefined;
    listeners?.forEach((listener) => listener());
  }

  /** Called once, unless it has aborted before. */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#aborted || this.#listeners?.includes(listener)) return;
    (this.#listeners ??= []).push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }
}
