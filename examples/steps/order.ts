import { task, type PgStore } from "../../src/index.js";

export interface Order {
  readonly id: string;
  readonly customer: string;
}

/** Where the process may die, for the example: in the middle of a step, or between two. */
export type Moment = "while charging" | "charged" | "shipped";

/** What was done for orders; where each effect happened exactly once each has one row. */
export async function createTables(store: PgStore): Promise<void> {
  await store.pool.query(
    `create table if not exists done (
       no integer generated always as identity, order_id text not null, what text not null)`,
  );
}

export async function whatWasDone(store: PgStore, order: string): Promise<string[]> {
  const { rows } = await store.pool.query<{ what: string }>(
    "select what from done where order_id = $1 order by no",
    [order],
  );
  return rows.map(({ what }) => what);
}

export function createTasks(store: PgStore, passed: (moment: Moment, attempt: number) => void) {
  return {
    order: task<Order>(async ({ id, customer }, job) => {
      // An effect in this database, and the record of its step, in one transaction: exactly once, whenever the process dies.
      await job.stepOnce("charge", async (tx) => {
        await tx.client.query("insert into done (order_id, what) values ($1, 'charge')", [id]);
        passed("while charging", job.crashAttempt);
      });
      passed("charged", job.crashAttempt);

      // An effect elsewhere: done again only where the process dies between it and its record. What it returns is kept.
      const parcel = await job.step("ship", async () => {
        await store.pool.query("insert into done (order_id, what) values ($1, 'ship')", [id]);
        return `parcel-${id}`;
      });
      passed("shipped", job.crashAttempt);

      await job.step("mail", async () => {
        const what = `mail ${customer} about ${parcel}`;
        await store.pool.query("insert into done (order_id, what) values ($1, $2)", [id, what]);
      });
    }),
  };
}
