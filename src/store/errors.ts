import type { DatabaseError } from "pg";

/** What went wrong, for programs. `unavailable`: the database could not be asked, or its answer was lost. */
export type StoreErrorCode =
  | "duplicate"
  | "id_conflict"
  | "quarantined"
  | "backpressure"
  | "lease_rejected"
  | "not_found"
  | "invalid"
  | "rate_limited"
  | "illegal_transition"
  | "unavailable"
  | "backend";

/** What an error says beside its message; which are there depends on the code. */
export interface StoreErrorFields {
  /** duplicate: the job that holds the unique key, and whether it was changed as asked. */
  readonly existing_id?: string;
  readonly replaced?: boolean;
  /** id_conflict, lease_rejected, illegal_transition. */
  readonly job_id?: string;
  /** quarantined. */
  readonly fingerprint?: string;
  /** backpressure. */
  readonly queue?: string;
  readonly limit?: number;
  readonly current?: number;
  readonly incoming?: number;
  /** not_found. */
  readonly what?: string;
  readonly id?: string;
  /** invalid: the argument, what is wrong with it, and what would be right. */
  readonly field?: string;
  readonly reason?: string;
  readonly bound?: string;
  /** rate_limited. */
  readonly task?: string;
  /** illegal_transition. */
  readonly from?: string;
  readonly event?: string;
  readonly [name: string]: unknown;
}

export interface StoreErrorOptions {
  readonly fields?: StoreErrorFields;
  readonly sqlstate?: string | undefined;
  readonly cause?: unknown;
  readonly retryable?: boolean;
}

/** The one error that a store throws. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  readonly fields: StoreErrorFields;
  /** As the database said it; undefined where it was not asked. */
  readonly sqlstate: string | undefined;
  /**
   * Whether the same call may succeed later. After `unavailable` it may also have taken effect already, so repeat only
   * what may happen twice: an enqueue with ids, anything under a lease.
   */
  readonly retryable: boolean;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StoreError";
    this.code = code;
    this.fields = options.fields ?? {};
    this.sqlstate = options.sqlstate;
    this.retryable = options.retryable ?? ["unavailable", "backpressure", "rate_limited"].includes(code);
  }
}

/** An argument that is refused before the database is asked. */
export function invalid(field: string, reason: string, bound: string, cause?: unknown): StoreError {
  return new StoreError("invalid", `${field} ${reason} (${bound})`, {
    fields: { field, reason, bound },
    cause,
  });
}

const ownCodes: Readonly<Record<string, StoreErrorCode>> = {
  HR001: "duplicate",
  HR002: "id_conflict",
  HR003: "quarantined",
  HR004: "backpressure",
  HR005: "lease_rejected",
  HR006: "not_found",
  HR007: "invalid",
  HR008: "rate_limited",
  HR009: "illegal_transition",
};

/**
 * The server can't serve now: a broken or refused connection (08), a shutdown or start (57P01 to 57P03), a session that
 * was ended for idling (57P05, 25P03), no free connection (53300), a standby or a read-only database (25006).
 */
const unavailableStates = /^(08...|57P0[1235]|53300|25006|25P03)$/;

/** Conflicts with others, waits that were cut short, and resources that ran out: another time it may work. */
const passingStates = /^(40001|40P01|55P03|57014|53...)$/;

/** What node-postgres says of a connection without any code. */
const connectionMessages =
  /^(Connection terminated|Query read timeout|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|The server does not support SSL|Cannot use a pool after calling end)/;

/** Turns whatever a query threw into a StoreError: the one place that knows SQLSTATEs. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (isDatabaseError(error)) return fromSqlState(error, error.code);
  const message = error instanceof Error && error.message !== "" ? error.message : String(error);
  if (isConnectionError(error)) {
    return new StoreError("unavailable", `the database can't be reached: ${message}`, { cause: error });
  }
  return new StoreError("backend", message, { cause: error });
}

/** Turns what a checkout from the pool threw into a StoreError: whatever it was, no statement has run. */
export function toCheckoutError(error: unknown): StoreError {
  const found = toStoreError(error);
  if (found.code !== "backend") return found;
  // A wrong password or an unknown database does not mend itself.
  const retryable = !/^(28|3D)/.test(found.sqlstate ?? "");
  const message = `no connection to the database: ${found.message}`;
  return new StoreError("unavailable", message, { sqlstate: found.sqlstate, cause: error, retryable });
}

/** Whether a connection is fit for the next call after this error. */
export function leavesConnectionUsable(error: unknown): boolean {
  if (error instanceof StoreError) return error.code !== "unavailable";
  // XX: the server is in trouble with itself. 0A000: a statement that it has prepared can't be used any more.
  return isDatabaseError(error) && !unavailableStates.test(error.code) && !/^(XX...|0A000)$/.test(error.code);
}

function fromSqlState(error: DatabaseError, sqlstate: string): StoreError {
  const code = ownCodes[sqlstate];
  if (code) {
    return new StoreError(code, error.message, { fields: readDetail(error.detail), sqlstate, cause: error });
  }
  if (unavailableStates.test(sqlstate)) {
    return new StoreError("unavailable", error.message, { sqlstate, cause: error });
  }
  if (sqlstate === "22021" || sqlstate === "22P05") {
    const fields = {
      field: "text",
      reason: "holds a character that PostgreSQL can't store",
      bound: "no U+0000",
    };
    return new StoreError("invalid", error.message, { fields, sqlstate, cause: error });
  }
  return new StoreError("backend", error.message, {
    sqlstate,
    cause: error,
    retryable: passingStates.test(sqlstate),
  });
}

/** By shape, not by class: an application may bring its own copy of pg. */
function isDatabaseError(error: unknown): error is DatabaseError & { code: string } {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Partial<DatabaseError>;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && typeof severity === "string";
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // Whatever a socket or a name server says has a syscall; the codes are for those that say it without.
  if (
    syscall !== undefined ||
    /^(E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_)|ERR_(SSL|TLS|SOCKET|STREAM))/.test(code ?? "")
  ) {
    return true;
  }
  return connectionMessages.test(error.message);
}

function readDetail(detail: string | undefined): StoreErrorFields {
  try {
    return JSON.parse(detail ?? "{}") as StoreErrorFields;
  } catch {
    return {};
  }
}
