import type { ClientBase } from "pg";
import type { TestDatabase } from "./database.js";

/** A claim as admit() answers it, as far as tests look at it. */
export interface Claim {
  readonly id: string;
  readonly lease_id: string;
  readonly fence: string;
  readonly queue: string;
}

/** Enqueues one job with the fields of enqueue_many and answers with its id. */
export async function enqueue(database: TestDatabase, job: Record<string, unknown> = {}): Promise<string> {
  const [row] = await database.query<{ id: string }>("select id from :SCHEMA.enqueue_many($1)", [
    JSON.stringify([{ kind: "task", ...job }]),
  ]);
  if (!row) throw new Error("enqueue_many answered with no row");
  return row.id;
}

/** Enqueues many jobs and answers with their ids in order. */
export async function enqueueAll(
  database: TestDatabase,
  jobs: readonly Record<string, unknown>[],
): Promise<string[]> {
  const rows = await database.query<{ id: string }>("select id from :SCHEMA.enqueue_many($1) order by ord", [
    JSON.stringify(jobs.map((job) => ({ kind: "task", ...job }))),
  ]);
  return rows.map(({ id }) => id);
}

export async function admit(
  database: TestDatabase,
  { worker = "w1", queue = "default", capacity = 16, leaseMs = 60_000 } = {},
): Promise<Claim[]> {
  return database.query<Claim & Record<string, unknown>>(
    "select id, lease_id, fence, queue from :SCHEMA.admit($1, array[$2], $3, $4)",
    [worker, queue, capacity, leaseMs],
  );
}

/** Claims one job of the queue, which must have one. */
export async function admitOne(
  database: TestDatabase,
  options: { worker?: string; queue?: string; leaseMs?: number } = {},
): Promise<Claim> {
  const [claim] = await admit(database, { ...options, capacity: 1 });
  if (!claim) throw new Error("nothing was admitted");
  return claim;
}

/** Ends attempts as drivers do, in a list of their own for each kind of end; a state of null: rejected. */
export async function ackBatch(
  client: Pick<ClientBase, "query">,
  database: TestDatabase,
  acks: readonly (Omit<Claim, "queue"> & { readonly outcome: string })[],
): Promise<{ id: string; state: string | null }[]> {
  const others = acks.filter(({ outcome }) => outcome !== "success");
  const successes = acks.filter(({ outcome }) => outcome === "success");
  const { rows } = await client.query<{ ord: number; state: string | null }>(
    database.sql("select ord, state from :SCHEMA.ack_batch($1, $2, $3, $4)"),
    [
      successes.map(({ id }) => id),
      successes.map(({ lease_id }) => lease_id),
      successes.map(({ fence }) => fence),
      JSON.stringify(
        others.map(({ id, lease_id, fence, outcome }) => ({
          job_id: id,
          lease_id,
          fence,
          outcome,
          delay_ms: 1,
        })),
      ),
    ],
  );
  const states = new Map(rows.map(({ ord, state }) => [ord, state]));
  return [...others, ...successes].map(({ id }, at) => ({
    id,
    state: states.has(at + 1) ? states.get(at + 1)! : "deleted",
  }));
}

export async function ack(
  database: TestDatabase,
  claim: Claim,
  outcome: string,
  options: { error?: string; delayMs?: number } = {},
): Promise<string> {
  const [row] = await database.query<{ state: string }>(
    "select :SCHEMA.ack($1, $2, $3, $4, $5, $6) as state",
    [claim.id, claim.lease_id, claim.fence, outcome, options.error ?? null, options.delayMs ?? null],
  );
  return row?.state ?? "?";
}

/** Brings a new job into the state asked for, by legal moves, and answers with its id. */
export async function jobIn(
  database: TestDatabase,
  state: string,
  job: Record<string, unknown> = {},
): Promise<string> {
  const queue = `making-${state}-${++made}`;
  const target = typeof job["queue"] === "string" ? job["queue"] : queue;
  if (state === "pending") return enqueue(database, { queue, ...job, pending: true });
  if (state === "scheduled") return enqueue(database, { queue, ...job, delay_ms: 3_600_000 });
  const id = await enqueue(database, { queue, ...job, retention_ms: job["retention_ms"] ?? 3_600_000 });
  if (state === "available") return id;
  if (state === "cancelled") {
    await database.query("select :SCHEMA.operator_cancel($1)", [id]);
    return id;
  }
  const rounds = state === "quarantined" ? 3 : 1;
  for (let round = 0; round < rounds; round++) {
    if (round > 0) await database.query("select :SCHEMA.reschedule_job($1, 1)", [id]);
    const claim = await admitOne(database, { queue: target, leaseMs: state === "quarantined" ? 1 : 600_000 });
    if (claim.id !== id) throw new Error(`${claim.id} was admitted instead of ${id}`);
    if (state === "quarantined") {
      await database.query("select pg_sleep(0.01)");
      await database.query("select * from :SCHEMA.reclaim_expired()");
    }
    const outcome = outcomes[state];
    if (outcome) await ack(database, claim, outcome, outcome === "retry" ? { delayMs: 3_600_000 } : {});
  }
  return id;
}

let made = 0;

const outcomes: Record<string, string> = {
  retryable: "retry",
  completed: "success",
  archived: "skip",
  undecodable: "undecodable",
};

export const states = [
  "pending",
  "scheduled",
  "available",
  "running",
  "retryable",
  "completed",
  "archived",
  "cancelled",
  "quarantined",
  "undecodable",
] as const;

export async function stateOf(database: TestDatabase, id: string): Promise<string | undefined> {
  const [row] = await database.query<{ state: string }>("select state from :SCHEMA.get_job($1)", [id]);
  return row?.state;
}

/** Moves the clock of the store, in this database only. */
export async function moveClock(database: TestDatabase, ms: number): Promise<void> {
  await database.query(
    "insert into :SCHEMA.test_clock as c (offset_ms) values ($1) " +
      "on conflict (only_row) do update set offset_ms = c.offset_ms + excluded.offset_ms",
    [ms],
  );
}
