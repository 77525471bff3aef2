import { StoreError } from "../../../src/index.js";

/** Waits for a call that must fail with a StoreError, and answers with it. */
export async function storeError(call: Promise<unknown>): Promise<StoreError> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error(`expected a StoreError, but the call answered ${String(answer)}`);
}
