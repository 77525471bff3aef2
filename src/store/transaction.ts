import type { PoolClient } from "pg";
import type { Tx } from "./caller.js";
import { StoreCore, type Loan } from "./core.js";
import { Deadline } from "./deadline.js";
import { enqueueWith } from "./enqueue.js";
import { StoreError, invalid, toStoreError } from "./errors.js";
import { checkpointArguments, completion } from "./settle.js";
import type { Checkpoint, CompleteDetail, Enqueued, Job, JobState, LeaseRef } from "./types.js";

/** Closes the connection of a transaction that nobody holds any more, so that the server ends it. */
const forgotten = new FinalizationRegistry<Loan>((loan) => loan.end(false));

/**
 * A transaction on a connection of the pool. It ends with `commit` or `rollback`, or at the end of the block where it was
 * declared with `await using`; a connection that did not end cleanly is closed, never reused.
 */
export class PgTx {
  readonly #loan: Loan;
  readonly #timeoutMs: number;
  #finished = false;

  /** @internal */
  constructor(loan: Loan, timeoutMs: number) {
    this.#loan = loan;
    this.#timeoutMs = timeoutMs;
    forgotten.register(this, loan, this);
  }

  /** For the caller's own statements; not to be released. */
  get client(): PoolClient {
    if (this.#finished) throw invalid("tx", "is finished", "a transaction of begin() that has not ended");
    return this.#loan.client;
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** @throws StoreError `backend` where a statement had failed, so that the server rolled back; `unavailable`. */
  async commit(): Promise<void> {
    const command = await this.#end("commit");
    if (command !== "COMMIT") {
      throw new StoreError("backend", "a statement of the transaction had failed, so it was rolled back", {
        sqlstate: "25P02",
      });
    }
  }

  /** Never fails for want of a connection: without one the server rolls back by itself. */
  async rollback(): Promise<void> {
    try {
      await this.#end("rollback");
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "unavailable") throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#finished) await this.rollback();
  }

  async #end(statement: "commit" | "rollback"): Promise<string> {
    const { client } = this;
    this.#finished = true;
    forgotten.unregister(this);
    const ending = client.query(statement);
    try {
      const { command } = await new Deadline(this.#timeoutMs).race(ending, "answer");
      this.#loan.end(true);
      return command;
    } catch (error) {
      this.#loan.end(false);
      throw toStoreError(error);
    }
  }
}

/** Transactions of the store, and what may happen in them or in one of the caller's own. */
export abstract class TransactionRoom extends StoreCore {
  /**
   * Takes a connection of the pool and begins a transaction (READ COMMITTED: what is read after the wait for a lock must be
   * what its last holder left). Whoever may hold T transactions at a time needs a pool of T + 2.
   */
  async begin(): Promise<PgTx> {
    const deadline = new Deadline(this.callTimeoutMs);
    const loan = await this.lend(deadline);
    try {
      await deadline.race(loan.client.query("begin isolation level read committed"), "answer");
    } catch (error) {
      loan.end(false);
      throw toStoreError(error);
    }
    return new PgTx(loan, this.callTimeoutMs);
  }

  /** Runs `work` in a transaction, which commits when it returns and rolls back when it throws. */
  async transaction<T>(work: (tx: PgTx) => Promise<T>): Promise<T> {
    const tx = await this.begin();
    let result: T;
    try {
      result = await work(tx);
    } catch (error) {
      // What went wrong in the work is the news, not what that made of the rollback.
      if (!tx.finished) await tx.rollback().catch(() => undefined);
      throw error;
    }
    if (!tx.finished) await tx.commit();
    return result;
  }

  /** The same as `begin`. */
  async beginTx(): Promise<PgTx> {
    return this.begin();
  }

  async commitTx(tx: PgTx): Promise<void> {
    await ours(tx).commit();
  }

  async rollbackTx(tx: PgTx): Promise<void> {
    await ours(tx).rollback();
  }

  /**
   * True for the first transaction that claims this effect, false where one that committed did; waits for one that is
   * still open. Whatever is done once belongs into the same transaction.
   */
  async claimEffect(tx: Tx, key: string): Promise<boolean> {
    return this.value("claim_effect", { key }, { on: tx });
  }

  /** `checkpoint` in the caller's transaction: a step's effects and its completion are one commit. */
  async checkpointTx(tx: Tx, lease: LeaseRef, checkpoint: Checkpoint): Promise<void> {
    await this.call("checkpoint", checkpointArguments(lease, checkpoint), { on: tx });
  }

  /** `enqueue` in the caller's transaction; a refusal does not abort it. */
  async enqueueTx(tx: Tx, batch: readonly Job[]): Promise<Enqueued[]> {
    return enqueueWith(this, batch, tx);
  }

  /**
   * Ends the attempt with success in the caller's transaction, with the result and the logs that it is to leave, and
   * answers with the state that the job has reached, `deleted` where it is gone. `lease_rejected` obliges the caller to
   * roll back.
   */
  async completeTx(tx: Tx, lease: LeaseRef, detail: CompleteDetail = {}): Promise<JobState | "deleted"> {
    return this.value(...completion(lease, detail), { on: tx });
  }

  /** `completeTx`, and what the job really took from its rate classes. */
  async completeTxWithActualWeight(
    tx: Tx,
    lease: LeaseRef,
    actualWeight?: number,
  ): Promise<JobState | "deleted"> {
    return this.completeTx(tx, lease, { actualWeight });
  }
}

function ours(tx: unknown): PgTx {
  if (!(tx instanceof PgTx)) throw invalid("tx", "is not one of this store", "a transaction of begin()");
  return tx;
}
