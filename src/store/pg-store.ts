/**
 * The store: every function of the schema as a method.
 *
 * How it is put together: `StoreCore` has the pool and one way to call a function (deadlines, retries, errors). Methods
 * stand in rooms by purpose, one file each: a class over `Caller`, whose methods call functions by name and parameters by
 * name, and need no more than `this.call`, `this.first`, `this.value`, `this.values`. `PgStore` takes the methods of all
 * rooms in below. A new method goes into its room, a new room into both lists.
 */
import pg from "pg";
import type { Pool, PoolConfig } from "pg";
import { AdmitRoom } from "./admit.js";
import { CapabilityRoom } from "./capabilities.js";
import { ArchiveRoom } from "./archive.js";
import { ControlRoom } from "./control.js";
import { StoreCore, type CoreOptions } from "./core.js";
import { EnqueueRoom } from "./enqueue.js";
import { invalid } from "./errors.js";
import { InspectRoom } from "./inspect.js";
import { LimitsRoom } from "./limits.js";
import { ScheduleRoom } from "./schedule.js";
import { ListenRoom } from "./listen.js";
import { OperationsRoom } from "./operations.js";
import { PolicyRoom } from "./policy.js";
import { SettleRoom } from "./settle.js";
import { StatisticsRoom } from "./statistics.js";
import { SweepRoom } from "./sweep.js";
import { TransactionRoom } from "./transaction.js";
import { VersionRoom } from "./version.js";

export type PgStoreOptions = CoreOptions;

export interface ConnectOptions extends PgStoreOptions {
  /** Connections of the pool. @defaultValue 10 */
  readonly maxSize?: number;
  /**
   * Connections of the pool that stay open while nothing happens: a new one reads and plans the functions again that it
   * runs, which makes a first claim some 15 ms longer. @defaultValue 3 where it listens, as workers do, else 0
   */
  readonly minSize?: number;
  /** Whether to open one more connection, for wake-ups; it can't go through a pooler in transaction mode. @defaultValue false */
  readonly listen?: boolean;
}

/** Jobs in a PostgreSQL schema. Every method throws nothing but StoreError. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the methods are filled in below
export class PgStore extends StoreCore {
  #owned: Pool | undefined;

  /**
   * A store on a pool of the caller's, which is never closed by it. Connects when it is first used.
   *
   * @throws StoreError `invalid` for a schema name that can't be one.
   */
  constructor(pool: Pool, options: PgStoreOptions = {}) {
    super(pool, options);
  }

  /**
   * A store on a pool of its own, once the server has answered and the installed schema fits.
   *
   * @param url undefined: the PG* variables say where.
   * @throws StoreError `unavailable` where there is no server, `not_found` where nothing is installed.
   */
  static async connect(url?: string, options: ConnectOptions = {}): Promise<PgStore> {
    const { maxSize = 10, listen = false, minSize = listen ? 3 : 0, ...rest } = options;
    const config: PoolConfig = {
      max: maxSize,
      min: minSize,
      keepAlive: true,
      connectionTimeoutMillis: Math.min(10_000, options.callTimeoutMs ?? 10_000),
      fallback_application_name: "headrace",
    };
    if (url !== undefined) config.connectionString = url;
    try {
      // Reads the address, and connects to nothing yet.
      void new pg.Client(config);
    } catch (error) {
      throw invalid(
        "url",
        `is none: ${error instanceof Error ? error.message : String(error)}`,
        "postgresql://…",
        error,
      );
    }
    const pool = new pg.Pool(config);
    try {
      const store = new PgStore(pool, rest);
      store.#owned = pool;
      if (listen) store.withListen(url ?? {});
      await store.checkSchema();
      return store;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  /** Ends what the store has opened itself. Calls that are still running end first. */
  async close(): Promise<void> {
    await this.stopListening();
    const pool = this.#owned;
    this.#owned = undefined;
    await pool?.end();
  }
}

const rooms = [
  EnqueueRoom,
  AdmitRoom,
  SettleRoom,
  TransactionRoom,
  SweepRoom,
  InspectRoom,
  StatisticsRoom,
  ArchiveRoom,
  PolicyRoom,
  ControlRoom,
  LimitsRoom,
  ScheduleRoom,
  ListenRoom,
  CapabilityRoom,
  OperationsRoom,
  VersionRoom,
] as const;

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- from the same list of rooms
export interface PgStore
  extends
    EnqueueRoom,
    AdmitRoom,
    SettleRoom,
    TransactionRoom,
    SweepRoom,
    InspectRoom,
    StatisticsRoom,
    ArchiveRoom,
    PolicyRoom,
    ControlRoom,
    LimitsRoom,
    ScheduleRoom,
    ListenRoom,
    CapabilityRoom,
    OperationsRoom,
    VersionRoom {}

for (const room of rooms) {
  for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(room.prototype))) {
    if (name === "constructor") continue;
    if (name in PgStore.prototype) throw new Error(`two rooms of the store have a method ${name}`);
    Object.defineProperty(PgStore.prototype, name, method);
  }
}
