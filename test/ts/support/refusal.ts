import pg from "pg";

/** What a function of ours raised: the SQLSTATE and the fields of DETAIL. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** Waits for a query that must fail, and answers with its error; a query that succeeds is a failure of the test. */
export async function refusal(query: Promise<unknown>): Promise<Refusal> {
  let answer: unknown;
  try {
    answer = await query;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const own = error.code?.startsWith("HR") && error.detail;
    const fields = own ? (JSON.parse(error.detail ?? "{}") as Record<string, unknown>) : {};
    return { code: error.code ?? "?", message: error.message, fields };
  }
  throw new Error(`expected an error, but the query answered ${JSON.stringify(answer)}`);
}
