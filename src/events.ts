import { EventEmitter } from "node:events";

/** By name: a list with the one thing that a listener of the event gets. */
export type EventsOf<Events> = { readonly [Name in keyof Events]: [unknown] };

/** An emitter whose listeners can't break whoever tells: what they throw is reported. */
export class SafeEmitter<Events extends EventsOf<Events>> {
  readonly #emitter = new EventEmitter();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  on<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.on(name, listener as (event: unknown) => void);
  }

  once<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.once(name, listener as (event: unknown) => void);
  }

  off<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.off(name, listener as (event: unknown) => void);
  }

  tell<Name extends keyof Events & string>(name: Name, event: Events[Name][0]): void {
    for (const listener of this.#emitter.rawListeners(name)) {
      try {
        const answer = Reflect.apply(listener, this.#emitter, [event]) as unknown;
        if (answer instanceof Promise) answer.catch(this.#failed);
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}
