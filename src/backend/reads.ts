import { BackendCalls } from "./calls.js";
import { toJob, type JobRow } from "./records.js";
import type { JobStatus, QueueJob, Run, TaskRunStats } from "./types.js";

/** What there is to see of jobs and runs. Nothing here changes anything. */
export abstract class BackendReads extends BackendCalls {
  async getJob(jobId: string): Promise<QueueJob | null> {
    return this.job("backend_get_job", { job_id: jobId });
  }

  /** Oldest first. `limit` is 0..10000. */
  async listJobs(status?: JobStatus | null, offset = 0, limit = 100): Promise<QueueJob[]> {
    const rows = await this.call<JobRow>("backend_list_jobs", {
      status: status ?? undefined,
      skip: offset,
      max_rows: limit,
    });
    return rows.map(toJob);
  }

  /** Pools in which a job could be claimed now, by name. */
  async distinctPoolsQueued(): Promise<string[]> {
    return this.values("backend_distinct_pools_queued");
  }

  /** Jobs that could be claimed now: by priority, then by when they came into line. */
  async listQueuedForPoolSorted(pool: string, limit = 8): Promise<QueueJob[]> {
    const rows = await this.call<JobRow>("backend_list_queued_for_pool_sorted", {
      pool,
      max_rows: limit,
    });
    return rows.map(toJob);
  }

  async countJobs(status?: JobStatus | null): Promise<number> {
    return this.value<number>("backend_count_jobs", { status: status ?? undefined });
  }

  async countJobsForTask(taskName: string, status?: JobStatus | null): Promise<number> {
    return this.value<number>("backend_count_jobs_for_task", {
      task_name: taskName,
      status: status ?? undefined,
    });
  }

  /** Queued and running. */
  async countActiveJobsForTask(taskName: string): Promise<number> {
    return this.value<number>("backend_count_active_jobs_for_task", { task_name: taskName });
  }

  async findNonterminalByIdempotencyKey(key: string): Promise<string | null> {
    const [id] = await this.values<string | null>("backend_find_nonterminal_by_idempotency_key", {
      idempotency_key: key,
    });
    return id ?? null;
  }

  async getRun(runId: string): Promise<Run | null> {
    const [row] = await this.call<Run>("backend_get_run", { run_id: runId });
    return row ?? null;
  }

  /** Newest first. `limit` is 0..10000. */
  async listRuns(jobId?: string | null, offset = 0, limit = 100): Promise<Run[]> {
    return this.call<Run>("backend_list_runs", { job_id: jobId ?? undefined, skip: offset, max_rows: limit });
  }

  async countRuns(jobId?: string | null): Promise<number> {
    return this.value<number>("backend_count_runs", { job_id: jobId ?? undefined });
  }

  /** Runs that started at the instant or later. */
  async countRunsSince(since: Date | number): Promise<number> {
    return this.value<number>("backend_count_runs_since", { since_ms: Number(since) });
  }

  async taskRunStats(taskName: string): Promise<TaskRunStats> {
    const [row] = await this.call<TaskRunStats>("backend_task_run_stats", { task_name: taskName });
    return row ?? { runsTotal: 0, successCount: 0 };
  }

  /** Leases that have expired, with their jobs, oldest first; at most `limit`, 1..100000. */
  async expiredLeaseJobPairs(limit = 1000): Promise<[leaseId: string, jobId: string][]> {
    const rows = await this.call<{ leaseId: string; jobId: string }>("backend_expired_lease_job_pairs", {
      max_rows: limit,
    });
    return rows.map(({ leaseId, jobId }) => [leaseId, jobId]);
  }
}
