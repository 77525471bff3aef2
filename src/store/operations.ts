import { Caller, Json } from "./caller.js";
import { filterJson } from "./inspect.js";
import type { JobFilter, Operation, OperationAction } from "./types.js";

/** What is done to many jobs at once, bit by bit, by whoever runs the duties. */
export abstract class OperationsRoom extends Caller {
  /**
   * Begins to do something to all jobs of a filter, which has at least one field, and answers with the operation's id.
   * The same call with the same id is a replay.
   *
   * @param options.dryRun only counts: see `estimated`.
   * @throws StoreError `invalid`, `id_conflict`.
   */
  async createOperation(
    action: OperationAction,
    selector: JobFilter,
    options: { readonly dryRun?: boolean; readonly id?: string } = {},
  ): Promise<string> {
    return this.value("create_operation", {
      action,
      selector: new Json(filterJson(selector)),
      dry_run: options.dryRun,
      id: options.id,
    });
  }

  /** How far an operation is; null where there is none, or it ended 30 days ago. */
  async getOperation(id: string): Promise<Operation | null> {
    return this.first("get_operation", { id });
  }

  /** The newest operations, 1..200. */
  async listOperations(maxRows?: number): Promise<Operation[]> {
    return this.call("list_operations", { max_rows: maxRows });
  }

  /** Moves a batch of each of the operations that have waited longest, and answers how many jobs that were. */
  async runPendingOperations(batch?: number): Promise<number> {
    return Number(await this.value("run_pending_operations", { batch }));
  }

  /**
   * Deletes a queue: its settings, limits and counts. With unfinished jobs it needs `force`, and the answer is the id of
   * the operation that deletes them; null: done.
   *
   * @throws StoreError `invalid` where there are unfinished jobs.
   */
  async deleteQueue(queue: string, force = false): Promise<string | null> {
    return this.value("delete_queue", { queue, force });
  }
}
