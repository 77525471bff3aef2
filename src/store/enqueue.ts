import { Caller, Json, type Tx } from "./caller.js";
import { StoreError, type StoreErrorFields } from "./errors.js";
import { batchJson } from "./job-json.js";
import type { Enqueued, Job } from "./types.js";

interface Placed {
  readonly id: string | null;
  readonly disposition: Enqueued["disposition"] | "withheld" | keyof typeof refusals;
  readonly existingId: string | null;
  readonly replaced: boolean;
  readonly detail: StoreErrorFields | null;
}

const refusals = {
  duplicate: ["HR001", "a job with this unique key exists"],
  id_conflict: ["HR002", "the id belongs to a job with other content"],
  quarantined: ["HR003", "the content is quarantined"],
  backpressure: ["HR004", "the queue is at its limit"],
} as const;

/** Entry of jobs. */
export abstract class EnqueueRoom extends Caller {
  /**
   * Enqueues a batch, all or nothing, and answers with a row a job, in order. A job that has an id may be sent again: the
   * second time nothing happens, and that is no error.
   *
   * @throws StoreError `duplicate` (fields existing_id, replaced), `id_conflict`, `quarantined`, `backpressure`: then
   * nothing of the batch was written. `invalid` for what is outside its limits.
   */
  async enqueue(batch: readonly Job[]): Promise<Enqueued[]> {
    return enqueueWith(this, batch);
  }

  /**
   * `enqueue` on a connection of the caller's own, in its transaction if it has begun one. A refusal is thrown after the
   * statement has succeeded, so it does not abort that transaction.
   */
  async enqueueOn(client: Tx, batch: readonly Job[]): Promise<Enqueued[]> {
    return enqueueWith(this, batch, client);
  }
}

export async function enqueueWith(caller: Caller, batch: readonly Job[], on?: Tx): Promise<Enqueued[]> {
  const jobs = new Json(batchJson(batch));
  const rows = await caller.call<Placed>("enqueue_many", { jobs, on_conflict: "report" }, { on, hot: true });
  for (const row of rows) if (row.disposition in refusals) throw refusal(row);
  return rows.map(({ id, disposition, existingId, replaced }) => ({
    id: id ?? existingId ?? "",
    disposition: disposition as Enqueued["disposition"],
    existingId,
    replaced,
  }));
}

function refusal(row: Placed): StoreError {
  const code = row.disposition as keyof typeof refusals;
  const [sqlstate, message] = refusals[code];
  const fields: StoreErrorFields =
    code === "duplicate"
      ? { existing_id: row.existingId ?? "", replaced: row.replaced, ...row.detail }
      : { ...row.detail };
  return new StoreError(code, message, { fields, sqlstate });
}
