import { PgStore } from "../store/pg-store.js";
import type {
  Ack,
  AckResult,
  AdmitAnswer,
  AdmitRequest,
  Claim,
  CompleteDetail,
  JobState,
  LeaseRef,
  Tx,
} from "../store/index.js";
import { TaskRegistry } from "../tasks/registry.js";
import type { TaskMap } from "../tasks/task.js";
import type { Outcome } from "../worker/outcome.js";
import { Worker, type WorkerOptions } from "../worker/index.js";

/** How one attempt went. */
export interface JobRun {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  /** Failed attempts before this one. */
  readonly attempt: number;
  /** lost: the lease was somebody else's, or the job cancelled, before the handler had ended. */
  readonly outcome: Outcome["type"] | "lost";
  /** Where the job stands now; deleted: it has ended and nothing was to be kept. */
  readonly state: JobState | "deleted";
  /** What the handler returned, as a reader of the result gets it; undefined where it returned nothing or failed. */
  readonly result: unknown;
  /** Why it failed, as the job's history has it. */
  readonly error: string | undefined;
  /** What the handler threw. */
  readonly thrown: unknown;
  /** What the handler logged, a line each. */
  readonly logs: readonly string[];
}

/** For the worker that runs the jobs: everything but where they come from. */
export type WorkSettings = Omit<
  WorkerOptions,
  "tasks" | "queues" | "concurrency" | "duties" | "wakeups" | "poll"
>;

export interface Hands {
  readonly store: PgStore;
  readonly tasks: TaskMap;
  readonly settings: WorkSettings;
  /** How long one handler may take, in ms. */
  readonly timeoutMs: number;
}

/** Where the worker's jobs come from: it asks when it is idle, until the answer is undefined. */
export type NextClaims = (request: AdmitRequest) => Promise<AdmitAnswer | undefined>;

/**
 * Runs jobs one at a time in a real worker, which claims them by `next`, and answers how each went, in order.
 *
 * @throws what `next` throws; Error where a handler does not come to an end.
 */
export async function workThrough(hands: Hands, next: NextClaims): Promise<JobRun[]> {
  const { store, tasks, settings, timeoutMs } = hands;
  const runs: JobRun[] = [];
  const registry = new TaskRegistry(tasks);
  let current: Claim | undefined;
  let thrown: unknown;
  let end!: () => void;
  let fail!: (error: unknown) => void;
  const over = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  over.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  const handed = new HandedStore(store, async (request) => {
    // A worker may ask while the end of a job is still on its way: nothing new before that is settled.
    if (ended || current) return none();
    try {
      const claims = await next(request);
      if (!claims) {
        ended = true;
        end();
        return none();
      }
      [current] = claims;
      thrown = undefined;
      if (current) timer = setTimeout(() => fail(unending(current, timeoutMs)), timeoutMs);
      return claims;
    } catch (error) {
      ended = true;
      fail(error);
      return none();
    }
  });
  const worker = new Worker(handed, {
    ...settings,
    tasks,
    middleware: [
      async (_job, go) => {
        try {
          return await go();
        } catch (error) {
          thrown = error;
          throw error;
        }
      },
      ...(settings.middleware ?? []),
    ],
    concurrency: 1,
    duties: false,
    wakeups: false,
    poll: { min: 1, max: 5 },
  });
  const note = (outcome: JobRun["outcome"], state: JobRun["state"], error: string | undefined): void => {
    if (!current) return;
    clearTimeout(timer);
    const { id, kind, queue, attempt } = current;
    const ack = handed.acks.get(id);
    const codec = registry.find(kind)?.codec;
    const result = ack?.result && codec && outcome === "success" ? codec.decode(ack.result) : undefined;
    const logs = (ack?.logs ?? []).map(String);
    runs.push({ id, kind, queue, attempt, outcome, state, result, error, thrown, logs });
    handed.acks.clear();
    current = undefined;
  };
  worker.on("job:settled", ({ outcome, state, error }) => note(outcome, state as JobRun["state"], error));
  worker.on("job:lost", ({ job }) => {
    // Where it stands now is the store's to say.
    void store.getJob(job.id).then((found) => note("lost", found?.state ?? "deleted", undefined), fail);
  });
  await worker.start();
  try {
    await over;
  } finally {
    clearTimeout(timer);
    await worker.stop({ mode: "abort" });
  }
  return runs;
}

const none = (): AdmitAnswer => Object.assign([], { refused: {}, nextDueMs: null, storeNowMs: Date.now() });

function unending(claim: Claim | undefined, timeoutMs: number): Error {
  return new Error(`the handler of ${claim?.kind} has not ended after ${timeoutMs} ms (job ${claim?.id})`);
}

/** The store, with claims by hand, and with an eye on what is acked. */
class HandedStore extends PgStore {
  readonly #claim: (request: AdmitRequest) => Promise<AdmitAnswer>;
  /** By job: what the worker told the store last. */
  readonly acks = new Map<string, Ack>();

  constructor(store: PgStore, claim: (request: AdmitRequest) => Promise<AdmitAnswer>) {
    super(store.pool, { schema: store.schema, callTimeoutMs: store.callTimeoutMs });
    this.#claim = claim;
  }

  override admit(request: AdmitRequest): Promise<AdmitAnswer> {
    return this.#claim(request);
  }

  override async ackMany(acks: readonly Ack[]): Promise<AckResult[]> {
    for (const ack of acks) this.acks.set(ack.jobId, ack);
    return super.ackMany(acks);
  }

  override async completeTx(
    tx: Tx,
    lease: LeaseRef,
    detail: CompleteDetail = {},
  ): Promise<JobState | "deleted"> {
    const { logs, result } = detail;
    this.acks.set(lease.jobId, { ...lease, outcome: "success", logs, result: result?.bytes });
    return super.completeTx(tx, lease, detail);
  }
}
