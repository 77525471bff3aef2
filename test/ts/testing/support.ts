import * as assert from "uvu/assert";

/** Waits for a call that must fail, and answers with its error. */
export async function failure(call: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    assert.instance(error, Error);
    return error as Error & Record<string, unknown>;
  }
  throw new Error(`expected an error, but the call answered ${JSON.stringify(answer)}`);
}
