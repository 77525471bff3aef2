import { AsyncLocalStorage } from "node:async_hooks";
import type { PgTx } from "../store/index.js";
import { encodeResult, type ResultForm } from "../tasks/registry.js";
import type { Attempt } from "./attempt.js";
import type { ContextServices } from "./context-services.js";
import { asHolder, mustHold } from "./holder.js";
import type { Steps } from "./steps.js";

const surrounding = new AsyncLocalStorage<PgTx>();

/** The transaction of the `once` or `stepOnce` from within which code is called. */
export const surroundingTransaction = (): PgTx | undefined => surrounding.getStore();

/** Does the work and completes the job in one transaction. False: it had been done already. */
export async function completeOnce<Result>(
  attempt: Attempt,
  services: ContextServices,
  form: ResultForm,
  work: (transaction: PgTx) => Promise<Result>,
): Promise<boolean> {
  mustNotNest();
  const { store, completed } = services;
  const { claim } = attempt;
  return inTransaction(attempt, services, effectOf(claim.id), work, async (transaction, value) => {
    const result = encodeResult(form, value);
    const { logs, actualWeight } = attempt;
    const state = await store.completeTx(transaction, claim, { result, logs, actualWeight });
    // A renewal that is answered meanwhile finds no lease; that decides nothing now.
    attempt.acking = true;
    try {
      await transaction.commit();
      attempt.completed = state;
      completed(attempt);
    } finally {
      attempt.acking = false;
    }
  });
}

/** Does the work and records the step in one transaction. False: it had been done already. */
export async function stepOnce(
  attempt: Attempt,
  services: ContextServices,
  steps: Steps,
  name: string,
  work: (transaction: PgTx) => Promise<void>,
): Promise<boolean> {
  mustNotNest();
  if (!(await steps.begin(name))) return false;
  const { claim } = attempt;
  return inTransaction(attempt, services, `${effectOf(claim.id)}/${name}`, work, (transaction) =>
    steps.end(name, undefined, async (checkpoint) => {
      await services.store.checkpointTx(transaction, claim, checkpoint);
      await transaction.commit();
    }),
  );
}

/** Whoever holds a transaction and waits for another may wait for ever: the pool bounds how many there are. */
function mustNotNest(): void {
  const outer = surrounding.getStore();
  if (outer && !outer.finished) throw new Error("once and stepOnce can't be called within each other");
}

/** @param conclude commits. */
async function inTransaction<Result>(
  attempt: Attempt,
  { store, transactions, lose }: ContextServices,
  effect: string,
  work: (transaction: PgTx) => Promise<Result>,
  conclude: (transaction: PgTx, result: Result) => Promise<void>,
): Promise<boolean> {
  mustHold(attempt);
  const run = async (): Promise<boolean> => {
    const transaction = await store.begin();
    try {
      if (!(await store.claimEffect(transaction, effect))) {
        await transaction.rollback();
        return false;
      }
      const result = await surrounding.run(transaction, () => work(transaction));
      await conclude(transaction, result);
      return true;
    } catch (error) {
      if (!transaction.finished) await transaction.rollback().catch(() => undefined);
      throw error;
    }
  };
  // Never more at a time than leave the runtime its own connections.
  return transactions.run(() => asHolder(attempt, lose, run), attempt.abort);
}

/** Under which the effect of a job is claimed: no id is, or begins like, the effect of a step of another. */
const effectOf = (id: string): string => id.replaceAll("~", "~0").replaceAll("/", "~1");
