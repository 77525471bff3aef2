import { StoreError } from "../store/errors.js";
import type { AdmitAnswer, AdmitRequest } from "../store/types.js";
import { TaskRegistry } from "../tasks/registry.js";
import type { TaskMap } from "../tasks/task.js";
import { Worker, type WorkerOptions } from "../worker/index.js";
import { ClaimingStore } from "./claiming-store.js";
import type { PostgresQueueBackend } from "./queue-backend.js";
import type { EnqueueDisposition, NewJob, TaskPolicy } from "./types.js";

export interface TaskRuntimeOptions<Tasks extends TaskMap = TaskMap> extends Omit<
  WorkerOptions<Tasks>,
  "tasks" | "queues"
> {
  /** By task name: a handler, or a `task(...)` with one. The actor's JSON stands in `job.headers.actor`. */
  readonly tasks: Tasks;
  /** By task name: what `register` stores for tasks that have no policies yet. */
  readonly policies?: Readonly<Record<string, TaskPolicy>>;
  /** By task name: jobs that were enqueued with another signature are not run. */
  readonly signatures?: Readonly<Record<string, bigint>>;
  /** Pools to work on. @defaultValue ["global"] */
  readonly pools?: readonly string[];
}

export type EnqueueTaskOptions = Omit<NewJob, "taskName" | "paramsJson" | "status" | "attempt" | "runId">;

/** Tasks on a backend: enqueues them, and runs them in a worker or one at a time. */
export class TaskRuntime<Tasks extends TaskMap = TaskMap> {
  readonly #backend: PostgresQueueBackend;
  readonly #options: TaskRuntimeOptions<Tasks>;
  readonly #registry: TaskRegistry;
  readonly #pools: readonly string[];
  #driving = false;

  constructor(backend: PostgresQueueBackend, options: TaskRuntimeOptions<Tasks>) {
    this.#backend = backend;
    this.#options = options;
    this.#registry = new TaskRegistry(options.tasks);
    this.#pools = options.pools ?? ["global"];
  }

  /** Stores the policies of the tasks, where none are stored yet. */
  async register(): Promise<void> {
    for (const taskName of Object.keys(this.#options.tasks)) {
      await this.#backend.registerTask(taskName, this.#options.policies?.[taskName]);
    }
  }

  /**
   * Enqueues a task under its stored policies, with the signature that it has here.
   *
   * @throws StoreError `not_found` for a task that is not here, and what `enqueueWithPolicies` throws.
   */
  async enqueue(
    taskName: string,
    params: unknown = {},
    options: EnqueueTaskOptions = {},
  ): Promise<[jobId: string, disposition: EnqueueDisposition]> {
    const task = this.#registry.find(taskName);
    if (!task) {
      throw new StoreError("not_found", `there is no task ${taskName}`, {
        fields: { what: "task", id: taskName },
      });
    }
    const paramsJson = Buffer.from(task.codec.encode(params)).toString();
    const signatureHash = options.signatureHash ?? this.#options.signatures?.[taskName];
    return this.#backend.enqueueWithPolicies({
      ...options,
      taskName,
      paramsJson,
      ...(signatureHash !== undefined && { signatureHash }),
    });
  }

  /** A worker for these tasks: several at once, with leases, retries and runs. Not started yet. */
  worker(overrides: Partial<Omit<TaskRuntimeOptions<Tasks>, "tasks">> = {}): Worker<Tasks> {
    const options = { ...this.#options, ...overrides };
    return this.#workerOn(
      new ClaimingStore(this.#backend.pool, this.#backend.schema, options.signatures ?? {}),
      options,
    );
  }

  /**
   * Runs at most one job, of whichever pool, to its end. True where one was driven, whatever came of it; false where
   * nothing could run, the store failed, or a call before is not over yet.
   */
  async tryRunNext(): Promise<boolean> {
    if (this.#driving) return false;
    this.#driving = true;
    try {
      const pools = this.#options.pools ?? (await this.#backend.distinctPoolsQueued());
      return pools.length > 0 && (await this.#drive(pools));
    } catch {
      return false;
    } finally {
      this.#driving = false;
    }
  }

  async #drive(pools: readonly string[]): Promise<boolean> {
    const store = new OneClaimStore(this.#backend.pool, this.#backend.schema, this.#options.signatures ?? {});
    const worker = this.#workerOn(store, {
      ...this.#options,
      pools,
      concurrency: 1,
      duties: false,
      wakeups: false,
    });
    const over = new Promise<void>((resolve) => {
      worker.on("job:settled", () => resolve());
      worker.on("job:lost", () => resolve());
    });
    try {
      store.answered.catch(() => undefined);
      await worker.start();
      const claimed = await store.answered;
      if (claimed) await over;
      return claimed || store.mismatched > 0;
    } finally {
      await worker.stop();
    }
  }

  #workerOn(store: ClaimingStore, options: TaskRuntimeOptions<Tasks>): Worker<Tasks> {
    const { pools = this.#pools, policies: _policies, signatures: _signatures, ...rest } = options;
    return new Worker(store, { ...rest, queues: pools });
  }
}

/** Answers one admission, of one job. */
class OneClaimStore extends ClaimingStore {
  #asked = false;
  #tell!: (claimed: boolean) => void;
  #fail!: (error: unknown) => void;
  /** Whether there was a job; rejects where the store failed. */
  readonly answered = new Promise<boolean>((resolve, reject) => {
    this.#tell = resolve;
    this.#fail = reject;
  });

  override async admit(request: AdmitRequest): Promise<AdmitAnswer> {
    if (this.#asked) return Object.assign([], { refused: {}, nextDueMs: null, storeNowMs: Date.now() });
    this.#asked = true;
    try {
      const answer = await super.admit({ ...request, capacity: 1 });
      this.#tell(answer.length > 0);
      return answer;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }
}
