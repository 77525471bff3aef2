import type { Attempt } from "./attempt.js";
import { LeaseLostError } from "./outcome.js";
import { StoreError } from "../store/index.js";

/** @throws where nothing that the handler does counts any more. */
export function mustHold({ claim, completed, over }: Attempt): void {
  if (completed) throw new Error(`job ${claim.id} is completed; nothing more can be written`);
  if (over) throw new LeaseLostError(claim.id);
}

/** A write as holder of the job: when it is refused, the lease is lost. */
export async function asHolder<T>(
  attempt: Attempt,
  lose: (attempt: Attempt) => never,
  write: () => Promise<T>,
): Promise<T> {
  mustHold(attempt);
  try {
    return await write();
  } catch (error) {
    // The work may hold other jobs too; theirs are not ours.
    const refused = error instanceof StoreError && error.code === "lease_rejected";
    if (!refused || error.fields.job_id !== attempt.claim.id) throw error;
    return lose(attempt);
  }
}
