import { Caller, type Arguments, type CallOptions } from "../store/caller.js";
import type { PgStore } from "../store/pg-store.js";
import { toJob, type JobRow } from "./records.js";
import type { QueueJob } from "./types.js";

/** How the methods of the backend, which stand in a file for each purpose, call functions: as the store does. */
export abstract class BackendCalls extends Caller {
  /** The same schema as a store. */
  abstract readonly store: PgStore;

  get schema(): string {
    return this.store.schema;
  }

  get callTimeoutMs(): number {
    return this.store.callTimeoutMs;
  }

  /** Calls a function of the schema, as `PgStore.call` does. */
  async call<Row extends object>(
    name: string,
    parameters?: Arguments,
    options?: CallOptions,
  ): Promise<Row[]> {
    return this.store.call<Row>(name, parameters, options);
  }

  protected async job(name: string, parameters: Arguments): Promise<QueueJob | null> {
    const row = await this.first<JobRow>(name, parameters, { hot: true });
    return row ? toJob(row) : null;
  }
}
