import { Caller, Json, type Tx } from "./caller.js";
import { checkText } from "./text.js";
import type {
  AdmissionExplanation,
  Attempt,
  BrokenInvariant,
  JobFilter,
  JobOutput,
  JobPage,
  JobProgress,
  JobResult,
  JobState,
  JobSummary,
  StateCounts,
  StoredCheckpoint,
} from "./types.js";

/** What anybody may read: bounded, and never payloads unless they are asked for. */
export abstract class InspectRoom extends Caller {
  /** One job, or null. Payload and headers only with `includePayload`. With `tx` as that transaction sees it. */
  async getJob(id: string, includePayload = false, tx?: Tx): Promise<JobSummary | null> {
    return this.first("get_job", { id, include_payload: includePayload }, { on: tx });
  }

  /**
   * A page of jobs that match every field of the filter, newest first, 1..200; payloads never. A call looks at a bounded
   * number of jobs, so a page may be short, or empty, and still name the next. With `tx` as that transaction sees them.
   */
  async listJobs(
    filter: JobFilter = {},
    cursor: string | null = null,
    maxRows = 50,
    tx?: Tx,
  ): Promise<JobPage> {
    const rows = await this.call<JobSummary | { id: null; cursor: string }>(
      "list_jobs",
      { filter: new Json(filterJson(filter)), cursor, max_rows: maxRows },
      { on: tx },
    );
    const last = rows.at(-1);
    const goesOn = last !== undefined && (last.id === null || rows.length === maxRows);
    return {
      jobs: rows.filter((row): row is JobSummary => row.id !== null),
      nextCursor: goesOn ? last.cursor : null,
    };
  }

  /** How far a job has come; null where there is no such job, an empty checkpoint where it stored none. */
  async getJobCheckpoint(id: string): Promise<StoredCheckpoint | null> {
    return this.first("get_job_checkpoint", { id });
  }

  /** What a completed job left; null where it is gone, has not completed, or left nothing. */
  async getJobResult(id: string): Promise<Required<JobResult> | null> {
    return this.first("get_job_result", { id });
  }

  /** What a job's handler wrote last while it ran; the fence says which attempt that was. */
  async getJobOutput(id: string): Promise<JobOutput | null> {
    return this.first("get_job_output", { id });
  }

  /** What a job's handler reported last; the fence says which attempt that was. */
  async getJobProgress(id: string): Promise<JobProgress | null> {
    return this.first("get_job_progress", { id });
  }

  /** Jobs by state, of one queue or of all. */
  async counts(queue?: string): Promise<StateCounts> {
    const rows = await this.call<{ state: JobState; jobs: number; approximate: boolean }>("counts", {
      queue,
    });
    return {
      byState: Object.fromEntries(rows.map(({ state, jobs }) => [state, jobs])) as Record<JobState, number>,
      approximate: rows.some(({ approximate }) => approximate),
    };
  }

  /** The history of a job, newest first; how much of it is kept depends on its queue. */
  async listAttempts(jobId: string, maxRows?: number): Promise<Attempt[]> {
    return this.call("list_attempts", { job_id: jobId, max_rows: maxRows });
  }

  /** Why a job is not running, by the rules of the gate; null where there is no such job. */
  async explainAdmission(id: string): Promise<AdmissionExplanation | null> {
    return this.first("explain_admission", { id });
  }

  /** What is not as it must be; empty on a sound install. Reads only. */
  async verifyInvariants(): Promise<BrokenInvariant[]> {
    return this.call("verify_invariants");
  }
}

/** A filter in the JSON of SQL. */
export function filterJson(filter: JobFilter): string {
  const names: Record<keyof JobFilter, string> = {
    queue: "queue",
    state: "state",
    kind: "kind",
    kindPrefix: "kind_prefix",
    partitionKey: "partition_key",
    id: "id",
    fingerprint: "fingerprint",
    rateClass: "rate_class",
    priority: "priority",
    tagsAll: "tags_all",
    tagsAny: "tags_any",
  };
  const given = Object.entries(filter) as [keyof JobFilter, unknown][];
  return JSON.stringify(
    Object.fromEntries(
      given
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => {
          for (const text of Array.isArray(value) ? (value as unknown[]) : [value]) {
            if (typeof text === "string") checkText(names[name] ?? name, text);
          }
          // SQL refuses what it does not know, by name.
          return [names[name] ?? name, value];
        }),
    ),
  );
}
