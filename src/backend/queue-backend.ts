import { randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import pg from "pg";
import type { Pool, PoolConfig } from "pg";
import { migrate } from "../migrate/index.js";
import type { Tx } from "../store/caller.js";
import { invalid, toCheckoutError, toStoreError } from "../store/errors.js";
import { PgStore } from "../store/pg-store.js";
import { visibleText } from "../store/text.js";
import { ClaimedRuns } from "./claimed-runs.js";
import { jobJson, policyJson, runJson } from "./records.js";
import { BackendTasks } from "./tasks.js";
import type { EnqueueDisposition, NewJob, NewRun, QueueJob, RunStatus, TaskPolicy } from "./types.js";

export interface QueueBackendOptions {
  /** The installed schema. @defaultValue "headrace" */
  readonly schema?: string;
  /** Names the holder of claims made through this object. @defaultValue host, process and a random part */
  readonly workerId?: string;
  /** How long a claim lasts without renewal. @defaultValue 30000 */
  readonly leaseMs?: number;
}

export interface ConnectBackendOptions extends QueueBackendOptions {
  /** Connections of the pool. @defaultValue 10 */
  readonly maxSize?: number;
}

export interface ClaimOptions {
  /** @defaultValue that of the backend */
  readonly workerId?: string;
  /** @defaultValue that of the backend */
  readonly leaseMs?: number;
}

/**
 * Jobs, runs, task policies and leases: another face of the tables that `PgStore` works on. Every method is one call of one
 * function; every error is a StoreError.
 *
 * A claim opens a run, and the run's id is what its holder shows: `finishRun(runId, …)` ends run and attempt together. For
 * callers that only name the job, the object remembers the runs of the claims that were made through it.
 */
export class PostgresQueueBackend extends BackendTasks {
  readonly #owned: boolean;
  readonly #runs = new ClaimedRuns();
  readonly #leaseMs: number;
  readonly workerId: string;
  /** The same schema as a store. */
  readonly store: PgStore;

  private constructor(pool: Pool, options: QueueBackendOptions, owned: boolean) {
    super();
    this.store = new PgStore(pool, options.schema === undefined ? {} : { schema: options.schema });
    this.workerId = options.workerId ?? `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
    this.#leaseMs = options.leaseMs ?? 30_000;
    this.#owned = owned;
  }

  /**
   * A backend on a pool of its own, with the schema brought up to this package's version.
   *
   * @throws StoreError `unavailable` where there is no server; MigrationError where schema and package disagree.
   */
  static async connect(url?: string, options: ConnectBackendOptions = {}): Promise<PostgresQueueBackend> {
    const config: PoolConfig = {
      max: options.maxSize ?? 10,
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      fallback_application_name: "headrace",
    };
    if (url !== undefined) config.connectionString = url;
    let pool: Pool;
    try {
      pool = new pg.Pool(config);
    } catch (error) {
      throw toCheckoutError(error);
    }
    try {
      const backend = new PostgresQueueBackend(pool, options, true);
      await backend.#bootstrap();
      return backend;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  /** `connect` with a schema of its own, which is made: for tests that run at the same time. */
  static async connectIsolated(
    url: string,
    schema: string,
    options: Omit<ConnectBackendOptions, "schema"> = {},
  ): Promise<PostgresQueueBackend> {
    return PostgresQueueBackend.connect(url, { ...options, schema });
  }

  /** A backend on the caller's pool, which it never closes, with the schema brought up to this package's version. */
  static async fromPool(pool: Pool, options: QueueBackendOptions = {}): Promise<PostgresQueueBackend> {
    const backend = new PostgresQueueBackend(pool, options, false);
    await backend.#bootstrap();
    return backend;
  }

  get pool(): Pool {
    return this.store.pool;
  }

  /** Ends the pool, where it is the backend's own. */
  async close(): Promise<void> {
    if (this.#owned && !this.pool.ended) await this.pool.end();
  }

  async #bootstrap(): Promise<void> {
    try {
      await migrate({ pool: this.pool, schema: this.schema });
    } catch (error) {
      const found = toStoreError(error);
      throw found.code === "unavailable" ? found : error;
    }
  }

  /**
   * Stores a job, in whatever status. One that is there may change its priority while it is queued, be canceled, and leave
   * running for its holder only.
   *
   * @throws StoreError `duplicate`, `id_conflict`, `lease_rejected`, `illegal_transition`, `invalid`.
   */
  async upsertJob(job: NewJob): Promise<void> {
    const runId = job.runId ?? (job.jobId === undefined ? undefined : this.#runs.of(job.jobId));
    const stored = runId === undefined ? job : { ...job, runId };
    await this.call("backend_upsert_job", { job: jobJson(stored, job.jobId ?? randomUUID()) });
    if (job.jobId !== undefined && job.status !== "running") this.#runs.forgetJob(job.jobId);
  }

  /**
   * Enqueues a job under the policies of its task: those given, else those stored.
   *
   * @returns the id, and whether it is new or that of the live job with the same key (or the same job enqueued before).
   * @throws StoreError `rate_limited` (task, scope, limit, current, retry_after_ms), `id_conflict`, `quarantined`,
   * `backpressure`, `invalid`.
   */
  async enqueueWithPolicies(
    job: NewJob,
    policy?: TaskPolicy | null,
    options: { readonly on?: Tx } = {},
  ): Promise<[jobId: string, disposition: EnqueueDisposition]> {
    const [row] = await this.call<{ jobId: string; disposition: EnqueueDisposition }>(
      "backend_enqueue_with_policies",
      { job: jobJson(job, job.jobId ?? randomUUID()), task_config: policy ? policyJson(policy) : undefined },
      options,
    );
    if (!row) throw invalid("job", "came to nothing", "a job");
    return [row.jobId, row.disposition];
  }

  /**
   * Cancels a job that has not finished; one that has is left alone. The holder of a running one learns it at its next call.
   *
   * @throws StoreError `not_found`.
   */
  async cancelJobIfActive(jobId: string): Promise<void> {
    await this.call("backend_cancel_job_if_active", { job_id: jobId });
  }

  /** Claims a queued job; null where it can't run now or somebody else was first. */
  async tryClaimJob(jobId: string, options: ClaimOptions = {}): Promise<QueueJob | null> {
    return this.#claim("backend_try_claim_job", { job_id: jobId }, options);
  }

  /** Claims the best job of a pool; null where nothing can run now. */
  async popClaimFromPool(pool: string, options: ClaimOptions = {}): Promise<QueueJob | null> {
    return this.#claim("backend_pop_claim_from_pool", { pool }, options);
  }

  /**
   * Puts a running job back into line, no attempt spent: for its holder, or once its lease has expired.
   *
   * @param runId the holder's run; by default that of the claim made through this object.
   * @throws StoreError `lease_rejected` where somebody else holds it, `not_found`.
   */
  async revertJobToQueued(jobId: string, runId?: string): Promise<void> {
    await this.call("backend_revert_job_to_queued", {
      job_id: jobId,
      run_id: runId ?? this.#runs.of(jobId),
    });
    this.#runs.forgetJob(jobId);
  }

  /**
   * Stores a run, also of a job that does not exist; one that is there is ended as `finishRun` does.
   *
   * @throws StoreError `id_conflict`, `lease_rejected`, `invalid`.
   */
  async upsertRun(run: NewRun): Promise<void> {
    await this.call("backend_upsert_run", { run: runJson(run) });
  }

  /**
   * Ends a run, and with it the attempt where a claim opened it: failed and timeout are retried while executions are left.
   * The same end once more is fine.
   *
   * @throws StoreError `not_found`, `lease_rejected` where it was lost or has ended otherwise, `invalid`.
   */
  async finishRun(
    runId: string,
    status: RunStatus,
    durationMs?: number | null,
    errorMessage?: string | null,
  ): Promise<void> {
    await this.call("backend_finish_run", {
      run_id: runId,
      status,
      duration_ms: durationMs ?? undefined,
      error_message: errorMessage == null ? undefined : visibleText(errorMessage, 8192),
    });
    this.#runs.forgetRun(runId);
  }

  /** Reserves an id, of a queued job or of none; null where it is taken or the job runs. */
  async tryClaimRunLease(jobId: string, workerId: string, ttlSecs: number): Promise<string | null> {
    const [lease] = await this.values<string | null>("backend_try_claim_run_lease", {
      job_id: jobId,
      worker_id: workerId,
      ttl_secs: ttlSecs,
    });
    return lease ?? null;
  }

  /** @throws StoreError `lease_rejected` where the lease is lost. */
  async extendLease(leaseId: string, ttlSecs: number): Promise<void> {
    await this.call("backend_extend_lease", { lease_id: leaseId, ttl_secs: ttlSecs });
  }

  /** A job that still runs under it is queued again. @throws StoreError `lease_rejected` where the lease is lost. */
  async releaseLease(leaseId: string): Promise<void> {
    await this.call("backend_release_lease", { lease_id: leaseId });
    this.#runs.forgetRun(leaseId);
  }

  async #claim(
    name: string,
    parameters: Readonly<Record<string, string>>,
    { workerId = this.workerId, leaseMs = this.#leaseMs }: ClaimOptions,
  ): Promise<QueueJob | null> {
    const job = await this.job(name, { ...parameters, worker: workerId, lease_ms: leaseMs });
    if (job?.runId) this.#runs.remember(job.jobId, job.runId);
    return job;
  }
}
