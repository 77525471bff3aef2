import { Caller } from "./caller.js";
import type { AdmitAnswer, AdmitRequest, Claim } from "./types.js";

/** A claim, or behind the claims the one row without an id. */
interface AdmitRow extends Omit<Claim, "id" | "jobId"> {
  readonly id: string | null;
  readonly refused: Record<string, number> | null;
  readonly nextDueMs: number | null;
  readonly storeNowMs: number | null;
}

/** The gate. */
export abstract class AdmitRoom extends Caller {
  /**
   * Asks the gate what this worker may run now, and claims it: each job with a lease and a fence. The answer is the list
   * of claims, which also says how many candidates were refused and when the next waiting job falls due.
   *
   * When the answer is lost the jobs stay claimed until their lease expires.
   */
  async admit(request: AdmitRequest): Promise<AdmitAnswer> {
    const rows = await this.call<AdmitRow>(
      "admit_hinted",
      {
        worker: request.worker,
        queues: request.queues,
        capacity: request.capacity ?? 16,
        lease_ms: request.leaseMs ?? 30_000,
        quantum: request.quantum,
        lease_id: request.leaseId,
      },
      { hot: true },
    );
    const claims: Claim[] = [];
    let hint: AdmitRow | undefined;
    for (const row of rows) {
      if (row.id === null) hint = row;
      else {
        const { refused: _refused, nextDueMs: _nextDueMs, storeNowMs: _storeNowMs, ...claim } = row;
        claims.push({ ...claim, id: row.id, jobId: row.id });
      }
    }
    return Object.assign(claims, {
      refused: hint?.refused ?? {},
      nextDueMs: hint?.nextDueMs ?? null,
      storeNowMs: hint?.storeNowMs ?? Date.now(),
    });
  }
}
