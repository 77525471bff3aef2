import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { FieldDef, Pool, PoolClient, QueryArrayConfig, QueryConfig } from "pg";
import { schemaName } from "../migrate/schema-name.js";
import { Ready, TextCaller, type Arguments, type CallOptions, type Queryable, type Tx } from "./caller.js";
import { Deadline } from "./deadline.js";
import { invalid, leavesConnectionUsable, StoreError, toCheckoutError, toStoreError } from "./errors.js";
import { camelRow, rowTypes, textTypes, type TextRow, type TextRows } from "./rows.js";
import { checkText, checkWhole } from "./text.js";

export interface CoreOptions {
  /** The installed schema. @defaultValue "headrace" */
  readonly schema?: string;
  /**
   * How long a call may take, waits for a connection included. Later it fails with `unavailable`, and its connection is
   * closed. @defaultValue 30000
   */
  readonly callTimeoutMs?: number;
  /**
   * Whether the hottest statements are prepared by name: less work for the server, but not for a pooler in transaction
   * mode that does not know about it. @defaultValue false
   */
  readonly prepared?: boolean;
}

/** A connection of the pool, on loan. */
export interface Loan {
  readonly client: PoolClient;
  /** Back to the pool, or closed where it can't be trusted any more. Only the first call counts. */
  end(usable: boolean): void;
}

/** What node-postgres makes of an answer. */
interface Answer {
  readonly rows: unknown[];
  readonly fields?: readonly FieldDef[];
}

/** Tries of a statement of ours that lost against another transaction. */
const maxTries = 6;

const guarded = new WeakSet<Pool>();

/** The pool, and the one way in which functions are called. What can be called stands in the rooms. */
export class StoreCore extends TextCaller {
  readonly #pool: Pool;
  readonly #identifier: string;
  readonly #prepared: boolean;
  /** Those that a transaction holds. */
  readonly #loans = new WeakMap<object, Loan>();
  readonly #statements = new Map<string, { text: string; name: string }>();
  readonly schema: string;
  readonly callTimeoutMs: number;

  constructor(pool: Pool, options: CoreOptions = {}) {
    super();
    this.#pool = pool;
    const schema = checkedSchema(options.schema ?? "headrace");
    this.schema = schema.name;
    this.#identifier = schema.identifier;
    this.#prepared = options.prepared ?? false;
    this.callTimeoutMs = options.callTimeoutMs ?? 30_000;
    if (!(this.callTimeoutMs >= 1)) throw invalid("callTimeoutMs", "is out of bounds", "at least 1");
    // A connection that breaks while it idles would end the process, if nobody listened; and so would one that breaks
    // with its first words, before whoever waits for it has it.
    if (!guarded.has(pool)) {
      pool.on("error", () => undefined);
      pool.on("connect", (client) => client.on("error", () => undefined));
    }
    guarded.add(pool);
  }

  get pool(): Pool {
    return this.#pool;
  }

  async call<Row extends object>(
    name: string,
    parameters: Arguments = {},
    options: CallOptions = {},
  ): Promise<Row[]> {
    const query = { ...this.#query(name, parameters, options), types: rowTypes };
    const { rows } = await this.#run(query, options);
    return (rows as Record<string, unknown>[]).map(camelRow) as Row[];
  }

  async callForText<Column extends string>(
    name: string,
    parameters: Arguments = {},
    options: CallOptions = {},
  ): Promise<TextRows<Column>> {
    const shape = { types: textTypes, rowMode: "array" } as const;
    const query: QueryArrayConfig = { ...this.#query(name, parameters, options), ...shape };
    const { rows, fields = [] } = await this.#run(query, options);
    const at = Object.fromEntries(fields.map((field, place) => [field.name, place]));
    return { at: at as Record<Column, number>, rows: rows as TextRow[] };
  }

  async #run(query: QueryConfig, { on, timeoutMs }: CallOptions): Promise<Answer> {
    const deadline = new Deadline(timeoutMs ?? this.callTimeoutMs);
    for (let tried = 1; ; tried++) {
      try {
        return on
          ? await this.#queryOn(clientOf(on), query, deadline)
          : await this.#queryPool(query, deadline);
      } catch (error) {
        const failure = this.#explain(toStoreError(error));
        // In a caller's transaction everything would have to be repeated, which only the caller can do.
        if (on || tried >= maxTries || deadline.leftMs === 0) throw failure;
        if (failure.sqlstate === "0A000" && query.name !== undefined) {
          // The function was replaced, and the plan of the prepared statement is of the old one.
          delete query.name;
        } else if (failure.sqlstate === "40001" || failure.sqlstate === "40P01") {
          await sleep(Math.min(deadline.leftMs, Math.random() * 10 * 2 ** tried));
        } else throw failure;
      }
    }
  }

  /** Lends a connection of the pool until `end`. */
  protected async lend(deadline: Deadline): Promise<Loan> {
    // In a promise of its own, since a pool also throws: for an address that is none, say.
    const connecting = Promise.resolve().then(() => this.#pool.connect());
    let client: PoolClient;
    try {
      client = await deadline.race(connecting, "connection");
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw toCheckoutError(error);
    }
    let broken = false;
    let ended = false;
    const onError = (): void => void (broken = true);
    client.on("error", onError);
    const loan: Loan = {
      client,
      end: (usable) => {
        if (ended) return;
        ended = true;
        const status = client.getTransactionStatus();
        const close = broken || !usable || (status !== null && status !== "I");
        // One that is being closed may still fail, so its listener stays.
        if (!close) client.off("error", onError);
        client.release(close);
      },
    };
    this.#loans.set(client, loan);
    return loan;
  }

  async #queryPool(query: QueryConfig, deadline: Deadline): Promise<Answer> {
    const loan = await this.lend(deadline);
    try {
      const answer = await deadline.race<Answer>(loan.client.query(query), "answer");
      loan.end(true);
      return answer;
    } catch (error) {
      loan.end(leavesConnectionUsable(error));
      throw error;
    }
  }

  async #queryOn(client: Queryable, query: QueryConfig, deadline: Deadline): Promise<Answer> {
    try {
      return await deadline.race(client.query(query), "answer");
    } catch (error) {
      // A transaction of ours ends here; what a caller owns is the caller's to close.
      if (!leavesConnectionUsable(error)) this.#loans.get(client)?.end(false);
      throw error;
    }
  }

  #query(name: string, parameters: Arguments, { hot }: CallOptions): QueryConfig {
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
    const key = `${name} ${given.map(([parameter]) => parameter).join()}`;
    let statement = this.#statements.get(key);
    if (!statement) {
      const list = given.map(([parameter], at) => `"${parameter}" => $${at + 1}`).join(", ");
      const text = `select * from ${this.#identifier}."${name}"(${list})`;
      const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
      statement = { text, name: `headrace_${digest}` };
      this.#statements.set(key, statement);
    }
    const values = given.map(([parameter, value]) => sent(parameter, value));
    const query: QueryConfig = { text: statement.text, values };
    if (hot && this.#prepared) query.name = statement.name;
    return query;
  }

  #explain(failure: StoreError): StoreError {
    if (failure.sqlstate !== "3F000" && failure.sqlstate !== "42883") return failure;
    const hint = `schema ${this.schema} is not installed or older than this driver; headrace migrate brings it up to date`;
    return new StoreError("backend", `${failure.message}: ${hint}`, {
      sqlstate: failure.sqlstate,
      cause: failure,
    });
  }
}

export function clientOf(tx: Tx): Queryable {
  return "client" in tx ? tx.client : tx;
}

/** The value as node-postgres sends it. */
function sent(parameter: string, value: Arguments[string]): unknown {
  if (value instanceof Ready) return value.text;
  if (typeof value === "string") checkText(parameter, value);
  else if (typeof value === "number") checkWhole(parameter, value);
  else if (Array.isArray(value)) for (const entry of value) checkText(parameter, entry);
  return value;
}

function checkedSchema(name: string): ReturnType<typeof schemaName> {
  checkText("schema", name);
  try {
    return schemaName(name);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^schema name /, "") : String(error);
    throw invalid("schema", reason, "1..63 bytes");
  }
}
