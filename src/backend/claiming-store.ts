import type { Pool } from "pg";
import { PgStore } from "../store/pg-store.js";
import { invalid } from "../store/errors.js";
import type { AdmitAnswer, AdmitRequest, Claim } from "../store/types.js";

interface ClaimRow extends Omit<Claim, "id" | "jobId"> {
  readonly id: string | null;
  readonly refused: Readonly<Record<string, number>> | null;
  readonly nextDueMs: number | null;
  readonly storeNowMs: number | null;
  readonly runId: string | null;
  readonly actorJson: string | null;
  readonly signatureHash: string | null;
}

/**
 * The store as workers of the backend use it: a claim opens the job's run, and a job whose signature is not that of its
 * task here is not run but ended as undecodable, which no retry would change.
 */
export class ClaimingStore extends PgStore {
  readonly #signatures: ReadonlyMap<string, bigint>;
  /** Jobs that were ended because of their signature. */
  mismatched = 0;

  constructor(pool: Pool, schema: string, signatures: Readonly<Record<string, bigint>>) {
    super(pool, { schema });
    this.#signatures = new Map(Object.entries(signatures));
  }

  override async admit(request: AdmitRequest): Promise<AdmitAnswer> {
    if (request.leaseId !== undefined) throw invalid("leaseId", "can't be chosen here", "none");
    const rows = await this.call<ClaimRow>(
      "backend_admit",
      {
        worker: request.worker,
        queues: request.queues,
        capacity: request.capacity ?? 16,
        lease_ms: request.leaseMs ?? 30_000,
        quantum: request.quantum,
      },
      { hot: true },
    );
    const claims: Claim[] = [];
    let hint: ClaimRow | undefined;
    for (const row of rows) {
      if (row.id === null) {
        hint = row;
        continue;
      }
      const { id, actorJson, signatureHash, ...others } = row;
      const { runId: _run, refused: _refused, nextDueMs: _next, storeNowMs: _now, ...rest } = others;
      const headers = actorJson === null ? rest.headers : { ...rest.headers, actor: actorJson };
      const claim: Claim = { ...rest, headers, id, jobId: id };
      if (await this.#fits(claim, signatureHash)) claims.push(claim);
    }
    return Object.assign(claims, {
      refused: hint?.refused ?? {},
      nextDueMs: hint?.nextDueMs ?? null,
      storeNowMs: hint?.storeNowMs ?? Date.now(),
      asleep: Boolean(hint?.expiresAtMs),
    });
  }

  /** Whether the job was enqueued for the task as it is here. */
  async #fits(claim: Claim, signatureHash: string | null): Promise<boolean> {
    const expected = this.#signatures.get(claim.kind);
    if (expected === undefined || signatureHash === null || BigInt(signatureHash) === expected) return true;
    this.mismatched++;
    const error = `signature mismatch: the job has ${signatureHash}, the task ${expected}`;
    // Where that is not heard, its lease runs out; the other claims are not to suffer.
    await this.ackMany([{ ...claim, outcome: "undecodable", error }]).catch(() => undefined);
    return false;
  }
}
