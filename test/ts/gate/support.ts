import type pg from "pg";
import type { TestDatabase } from "../support/database.js";

export interface GateClaim {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly partition_key: string;
  readonly priority: number;
  readonly lease_id: string;
  readonly fence: string;
}

export interface GateAnswer {
  readonly claims: GateClaim[];
  readonly refused: Record<string, number>;
  readonly nextDueMs: number | undefined;
}

export interface AdmitOptions {
  readonly worker?: string;
  readonly queues?: readonly string[];
  readonly capacity?: number;
  readonly leaseMs?: number;
  readonly quantum?: number;
  readonly client?: pg.ClientBase;
}

/** The gate and what tests of it need, on one database. */
export function gate(database: TestDatabase) {
  const { query, sql } = database;
  return {
    async admit(options: AdmitOptions = {}): Promise<GateAnswer> {
      const {
        worker = "w",
        queues = ["default"],
        capacity = 10,
        leaseMs = 60_000,
        quantum,
        client,
      } = options;
      const text = sql("select * from :SCHEMA.admit_hinted($1, $2, $3, $4, $5)");
      const values = [worker, queues, capacity, leaseMs, quantum ?? null];
      const rows = (await (client ?? database.pool).query(text, values)).rows as Record<string, unknown>[];
      const hint = rows.at(-1)!;
      return {
        claims: rows.slice(0, -1) as unknown as GateClaim[],
        refused: hint["refused"] as Record<string, number>,
        nextDueMs: hint["next_due_ms"] === null ? undefined : Number(hint["next_due_ms"]),
      };
    },
    /** Enqueues `count` equal jobs in one batch and answers with their ids. */
    async enqueue(count: number, job: Record<string, unknown> = {}): Promise<string[]> {
      const jobs = Array.from({ length: count }, () => ({ kind: "work", ...job }));
      const rows = await query<{ id: string }>("select id from :SCHEMA.enqueue_many($1) order by ord", [
        JSON.stringify(jobs),
      ]);
      return rows.map((row) => row.id);
    },
    async ack(claims: readonly GateClaim[], outcome = "success", more: Record<string, unknown> = {}) {
      const acks = claims.map((claim) => ({
        job_id: claim.id,
        lease_id: claim.lease_id,
        fence: Number(claim.fence),
        outcome,
        ...more,
      }));
      const rows = await query<{ rejected: boolean }>("select rejected from :SCHEMA.ack_many($1)", [
        JSON.stringify(acks),
      ]);
      return rows.filter((row) => row.rejected).length;
    },
    /** Moves the store's clock by so many milliseconds, forwards or back. */
    async moveClock(ms: number): Promise<void> {
      await query(
        `insert into :SCHEMA.test_clock as c (offset_ms) values ($1)
         on conflict (only_row) do update set offset_ms = c.offset_ms + excluded.offset_ms`,
        [ms],
      );
    },
    async reset(): Promise<void> {
      await query(
        `truncate :SCHEMA.job, :SCHEMA.lease, :SCHEMA.lane, :SCHEMA.lane_return, :SCHEMA.partition, :SCHEMA.queue,
           :SCHEMA.quarantine, :SCHEMA.tally, :SCHEMA.queue_minute, :SCHEMA.queue_depth, :SCHEMA.attempt,
           :SCHEMA.job_extra, :SCHEMA.rate_class, :SCHEMA.concurrency_limit, :SCHEMA.queue_share, :SCHEMA.test_clock`,
      );
    },
    async one<T>(text: string, values: readonly unknown[] = []): Promise<T> {
      const [row] = await query<Record<string, T>>(text, values);
      return Object.values(row!)[0]!;
    },
  };
}

/** How many there are of each. */
export function tally(items: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of [...items].sort()) counts[item] = (counts[item] ?? 0) + 1;
  return counts;
}
