import { Json, TextCaller, type Tx } from "./caller.js";
import { StoreError, type StoreErrorFields } from "./errors.js";
import { batchJson } from "./job-json.js";
import { maybe } from "./rows.js";
import type { Enqueued, Job } from "./types.js";

type Column = "id" | "disposition" | "existing_id" | "replaced" | "detail";

const refusals = {
  duplicate: ["HR001", "a job with this unique key exists"],
  id_conflict: ["HR002", "the id belongs to a job with other content"],
  quarantined: ["HR003", "the content is quarantined"],
  backpressure: ["HR004", "the queue is at its limit"],
} as const;

/** Entry of jobs. */
export abstract class EnqueueRoom extends TextCaller {
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

export async function enqueueWith(caller: TextCaller, batch: readonly Job[], on?: Tx): Promise<Enqueued[]> {
  const jobs = new Json(batchJson(batch));
  const { at, rows } = await caller.callForText<Column>(
    "enqueue_many",
    { jobs, on_conflict: "report" },
    { on, hot: true },
  );
  return rows.map((row) => {
    const disposition = row[at.disposition] as Enqueued["disposition"] | keyof typeof refusals;
    const existingId = row[at.existing_id] ?? null;
    const replaced = row[at.replaced] === "t";
    if (isRefusal(disposition)) {
      const detail = maybe(row[at.detail], JSON.parse) as StoreErrorFields | null;
      throw refusal(disposition, { existing_id: existingId ?? "", replaced }, detail);
    }
    return { id: row[at.id] ?? existingId ?? "", disposition, existingId, replaced };
  });
}

function isRefusal(disposition: string): disposition is keyof typeof refusals {
  return Object.hasOwn(refusals, disposition);
}

function refusal(
  why: keyof typeof refusals,
  holder: StoreErrorFields,
  detail: StoreErrorFields | null,
): StoreError {
  const [sqlstate, message] = refusals[why];
  const fields: StoreErrorFields = why === "duplicate" ? { ...holder, ...detail } : { ...detail };
  return new StoreError(why, message, { fields, sqlstate });
}
