import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Pool } from "pg";
import { Client, type ClientJob, type KindOf } from "../client/client.js";
import type { ClientOptions } from "../client/core.js";
import type { EnqueueOptions } from "../client/options.js";
import { milliseconds, type Duration } from "../duration.js";
import { PgStore, type AdmitAnswer, type Claim } from "../store/index.js";
import { TaskRegistry } from "../tasks/registry.js";
import type { InputOf, TaskMap } from "../tasks/task.js";
import {
  assertEnqueued,
  enqueued,
  refuteEnqueued,
  type EnqueuedJob,
  type EnqueuedOptions,
  type KindMatch,
  type Looking,
} from "./enqueued.js";
import { workThrough, type Hands, type JobRun, type WorkSettings } from "./hands.js";
import { show } from "./match.js";
import { holdSchema } from "./schemas.js";

/** What jobs are run with. */
export interface TestWorkOptions<Tasks extends TaskMap> {
  /** The application's tasks, as its workers have them. */
  readonly tasks?: Tasks;
  /** For the worker that runs the jobs: middleware, logger, lease, … */
  readonly worker?: WorkSettings;
  /** For the client: defaults, middleware. */
  readonly client?: Omit<ClientOptions<Tasks>, "tasks">;
}

export interface TestQueueOptions<Tasks extends TaskMap> extends TestWorkOptions<Tasks> {
  /** Where the fresh schema is made. @defaultValue the PG* variables */
  readonly url?: string;
  /** The application's pool, instead of `url`; it is not closed. */
  readonly pool?: Pool;
}

export interface RunOptions {
  /** How long a handler may take before the test fails. @defaultValue "30s" */
  readonly timeout?: Duration;
}

export interface RunJobOptions extends RunOptions {
  /** By name: steps that are done already, with what they returned (undefined: nothing). The handler goes on behind them. */
  readonly steps?: Readonly<Record<string, unknown>>;
  /** Where `job.cursor()` and `job.forEach()` begin. */
  readonly cursor?: unknown;
}

export interface DrainOptions extends RunOptions {
  /** Only these. @defaultValue every queue that has jobs */
  readonly queues?: readonly string[];
  /** More jobs than that are taken for a loop, and an error. @defaultValue 1000 */
  readonly maxJobs?: number;
  /** Goes on as time would: moves it to whatever falls due within so long, job or schedule, until nothing does. @defaultValue 0 */
  readonly within?: Duration;
}

/** One job to enqueue and run. */
export interface NewJob<Tasks extends object, Kind extends KindOf<Tasks> = KindOf<Tasks>> {
  readonly kind: Kind;
  readonly payload?: InputOf<Tasks[Kind]>;
  readonly options?: EnqueueOptions;
}

/**
 * A queue in a schema that nobody else uses, as new. Close it when the test is over, or declare it with `await using`.
 *
 * @throws Error where the database can't be reached or no schema made in it.
 */
export async function testQueue<Tasks extends TaskMap = TaskMap>(
  options: TestQueueOptions<Tasks> = {},
): Promise<TestQueue<Tasks>> {
  const { url, pool } = options;
  if (url !== undefined && pool) throw new TypeError("give url or pool, not both");
  const held = await holdSchema({ url, pool });
  const used =
    pool ?? new pg.Pool({ ...(url !== undefined && { connectionString: url }), allowExitOnIdle: true });
  const store = new PgStore(used, { schema: held.name });
  return new TestQueue<Tasks>(store, options, async () => {
    await store.close();
    if (used !== pool) await used.end();
    await held.release();
  });
}

/** A queue as tests need it. `testQueue()` makes one in a fresh schema; on a store of your own it has everything but time. */
export class TestQueue<Tasks extends TaskMap = TaskMap> {
  readonly store: PgStore;
  readonly client: Client<Tasks>;
  readonly #options: TestWorkOptions<Tasks>;
  readonly #registry: TaskRegistry;
  readonly #close: () => Promise<void>;
  readonly #holder = `headrace testing ${randomBytes(4).toString("hex")}`;
  #closed: Promise<void> | undefined;

  constructor(
    store: PgStore,
    options: TestWorkOptions<Tasks> = {},
    close: () => Promise<void> = async () => {},
  ) {
    this.store = store;
    this.#options = options;
    this.#registry = new TaskRegistry(options.tasks ?? {});
    this.#close = close;
    this.client = new Client<Tasks>(store, {
      ...options.client,
      ...(options.tasks && { tasks: options.tasks }),
    });
  }

  get schema(): string {
    return this.store.schema;
  }

  get pool(): Pool {
    return this.store.pool;
  }

  /**
   * Runs one job now, whatever else is in line: one that was enqueued, by its id, or a new one. It is run by a real worker,
   * so its outcome, retries, steps and limits are those of production. A handler that fails is an outcome, no error.
   *
   * @throws Error where there is no such job or it can't run now, which is said why; where the handler does not end.
   */
  async runJob<Kind extends KindOf<Tasks>>(
    job: string | NewJob<Tasks, Kind>,
    options: RunJobOptions = {},
  ): Promise<JobRun> {
    const hands = this.#hands(options);
    const id = typeof job === "string" ? job : await this.#enqueue(job);
    let answer: AdmitAnswer | undefined = await this.#claimAsBegun(id, options);
    const [run] = await workThrough(hands, () => {
      const only = answer;
      answer = undefined;
      return Promise.resolve(only);
    });
    if (!run) throw new Error(`the job ${id} was not run`);
    return run;
  }

  /**
   * Runs jobs one at a time, in the order of the gate, until none can run: also those that they enqueue, and that the
   * duties bring. Answers with how each went, in order; failures are outcomes, no errors.
   *
   * @throws Error where more than `maxJobs` run, a handler does not end, or a duty fails.
   */
  async drain(options: DrainOptions = {}): Promise<JobRun[]> {
    const { queues, maxJobs = 1000 } = options;
    const untilMs =
      options.within === undefined ? 0 : (await this.#nowMs()) + milliseconds(options.within, "within");
    const kinds = new Map<string, number>();
    let count = 0;
    let dutiesDone = false;
    return workThrough(this.#hands(options), async (request) => {
      for (;;) {
        const answer = await this.store.admit({
          ...request,
          queues: queues ?? (await this.#queues()),
          capacity: 1,
        });
        const [claim] = answer;
        if (claim) {
          dutiesDone = false;
          kinds.set(claim.kind, (kinds.get(claim.kind) ?? 0) + 1);
          if (++count > maxJobs) {
            await this.store.release(claim);
            throw new Error(
              `more than ${maxJobs} jobs ran, and there is no end: ${show(Object.fromEntries(kinds))}`,
            );
          }
          return answer;
        }
        if (!dutiesDone) {
          await this.runDuties();
          dutiesDone = true;
        } else if (await this.#moveToNext(answer.nextDueMs, untilMs)) dutiesDone = false;
        else return undefined;
      }
    });
  }

  /** Does what time does, once: lost leases, due schedules, deadlines, retention. `drain` does it by itself. @throws Error where a duty fails. */
  async runDuties(): Promise<void> {
    // The duties' own leases must not outlive a move of time.
    const did = await this.store.runDuties(this.#holder, { leaseMs: 1 });
    const failed = did.filter(({ error }) => error !== null);
    if (failed.length > 0) {
      throw new Error(failed.map(({ duty, error }) => `the duty ${duty} failed: ${error}`).join("; "));
    }
  }

  /**
   * Jobs that match, oldest first; without a state those that are still to be done. A job of a transaction that is open is
   * there only for who looks in that transaction: `{ tx }`.
   */
  async enqueued<Kind extends KindOf<Tasks>>(
    match: KindMatch<Tasks, Kind> = {},
    options: EnqueuedOptions = {},
  ): Promise<EnqueuedJob<InputOf<Tasks[Kind]>>[]> {
    return (await enqueued(this.#looking(options), match as never)) as EnqueuedJob<InputOf<Tasks[Kind]>>[];
  }

  /**
   * Answers with the newest job that matches. What a transaction has enqueued that is still open is not seen, unless the
   * test looks in that transaction: `assertEnqueued(match, { tx: client })`.
   *
   * @throws AssertionError where none does; it shows those that are there.
   */
  async assertEnqueued<Kind extends KindOf<Tasks>>(
    match: KindMatch<Tasks, Kind> = {},
    options: EnqueuedOptions = {},
  ): Promise<EnqueuedJob<InputOf<Tasks[Kind]>>> {
    return (await assertEnqueued(this.#looking(options), match as never)) as EnqueuedJob<
      InputOf<Tasks[Kind]>
    >;
  }

  /**
   * Wants no job that matches. One in a transaction that is open is not seen without `{ tx }`: refute behind the commit.
   *
   * @throws AssertionError where a job matches.
   */
  async refuteEnqueued<Kind extends KindOf<Tasks>>(
    match: KindMatch<Tasks, Kind> = {},
    options: EnqueuedOptions = {},
  ): Promise<void> {
    await refuteEnqueued(this.#looking(options), match as never);
  }

  /** The store's time. */
  async now(): Promise<Date> {
    return new Date(await this.#nowMs());
  }

  /**
   * Moves the store's time on and answers with the new one. What is due by then is done by the next drain or worker. Time
   * goes on from there; clocks of processes, and so the timeouts of handlers that run, are not touched.
   *
   * @throws StoreError `invalid` in a schema that is not for tests.
   */
  async advance(by: Duration): Promise<Date> {
    return new Date(await this.#move(milliseconds(by, "by")));
  }

  /**
   * Sets the store's time; into the past only while there are no jobs.
   *
   * @throws RangeError for what is no instant; StoreError `invalid` in a schema that is not for tests.
   */
  async setTime(to: Date | number | string): Promise<Date> {
    const toMs = new Date(to).getTime();
    if (Number.isNaN(toMs))
      throw new RangeError(`${show(to)} is no instant; give a Date, ms, or an ISO text`);
    return new Date(await this.#move(Math.round(toMs) - (await this.#nowMs())));
  }

  /** Leaves the schema empty for the next test. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #looking({ tx }: EnqueuedOptions): Looking {
    return { store: this.store, registry: this.#registry, ...(tx && { tx }) };
  }

  #hands({ timeout = "30s" }: RunOptions): Hands {
    const { tasks, worker = {} } = this.#options;
    if (this.#registry.handled.length === 0) {
      throw new TypeError("there are no handlers to run jobs with: testQueue({ tasks: … })");
    }
    return {
      store: this.store,
      tasks: tasks ?? {},
      settings: worker,
      timeoutMs: milliseconds(timeout, "timeout"),
    };
  }

  async #enqueue<Kind extends KindOf<Tasks>>(job: NewJob<Tasks, Kind>): Promise<string> {
    if (typeof job !== "object" || job === null || typeof job.kind !== "string") {
      throw new TypeError(`runJob takes the id of a job, or { kind, payload, options }, not ${show(job)}`);
    }
    const [enqueued] = await this.client.enqueueMany([job as unknown as ClientJob<Tasks>]);
    return enqueued!.id;
  }

  /** Answers as an admission that brought this one job. */
  async #claim(id: string): Promise<AdmitAnswer & [Claim]> {
    const worker = this.#options.worker?.workerId ?? this.#holder;
    const leaseMs = milliseconds(this.#options.worker?.lease ?? "30s", "lease");
    const [row] = await this.store.call<Claim>("backend_claim_named", {
      job_id: id,
      worker,
      lease_ms: leaseMs,
    });
    if (row) {
      const claims: [Claim] = [{ ...row, jobId: row.id }];
      return Object.assign(claims, { refused: {}, nextDueMs: null, storeNowMs: row.expiresAtMs - leaseMs });
    }
    const job = await this.store.getJob(id);
    if (!job) throw new Error(`there is no job ${id}`);
    const why = await this.store.explainAdmission(id);
    const reasons = [`it is ${job.state}`];
    if (job.state === "scheduled" || job.state === "retryable") {
      reasons.push(`due at ${new Date(job.scheduledAtMs).toISOString()}; advance() moves the time`);
    } else if (why?.reason) reasons.push(`${why.reason} ${show(why.detail ?? {})}`);
    throw new Error(`the job ${id} can't run now: ${reasons.join(", ")}`);
  }

  /** The job as if an earlier attempt had come so far. */
  async #claimAsBegun(id: string, { steps = {}, cursor }: RunJobOptions): Promise<AdmitAnswer> {
    const claims = await this.#claim(id);
    const completed = Object.keys(steps);
    if (completed.length === 0 && cursor === undefined) return claims;
    const checkpoint = { completed, started: completed, results: steps, inProgress: null };
    const bytes = cursor === undefined ? null : Buffer.from(JSON.stringify(cursor), "utf8");
    await this.store.checkpoint(claims[0], { ...checkpoint, cursor: bytes });
    await this.store.release(claims[0]);
    return this.#claim(id);
  }

  async #queues(): Promise<string[]> {
    return (await this.store.queueStats()).filter(({ depth }) => depth > 0).map(({ queue }) => queue);
  }

  /** False: nothing falls due until then. */
  async #moveToNext(jobDueMs: number | null, untilMs: number): Promise<boolean> {
    if (untilMs === 0) return false;
    const schedules = (await this.store.listSchedules()).filter(({ paused }) => !paused);
    const due = schedules.map(({ nextRunMs, retryAtMs }) => Math.max(nextRunMs, retryAtMs));
    const nextMs = Math.min(...due, jobDueMs ?? Infinity);
    if (nextMs > untilMs) return false;
    const nowMs = await this.#nowMs();
    if (nextMs > nowMs) await this.#move(nextMs - nowMs);
    return true;
  }

  #nowMs(): Promise<number> {
    return this.#move(0);
  }

  async #move(byMs: number): Promise<number> {
    const [row] = await this.store.call<Record<string, number>>("move_test_clock", { by_ms: byMs });
    return Object.values(row ?? {})[0] ?? Number.NaN;
  }
}
