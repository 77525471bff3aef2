import type { FieldDef, QueryConfig } from "pg";
import type { TextRows } from "./rows.js";

/** A connection that the caller owns: any client of node-postgres, also one that an ORM or a pool lent. */
export interface Queryable {
  query(config: QueryConfig): Promise<{ rows: unknown[]; command?: string; fields?: readonly FieldDef[] }>;
}

/** A transaction of `begin()`, or a connection of the caller's own. */
export type Tx = Queryable | { readonly client: Queryable };

/** Text that is ready to be sent; other text is checked for what PostgreSQL can't hold. */
export class Ready {
  constructor(readonly text: string) {}
}

export class Json extends Ready {}

/** By the names that the SQL function gives its parameters; undefined leaves one to its default. */
export type Arguments = Readonly<
  Record<
    string,
    string | number | bigint | boolean | null | undefined | Uint8Array | Ready | readonly string[]
  >
>;

export interface CallOptions {
  /** Where to run; without it a connection of the pool, and then serialization failures are tried again. */
  readonly on?: Tx | undefined;
  /** Until the answer is there, waits for a connection included. @defaultValue the store's callTimeoutMs */
  readonly timeoutMs?: number | undefined;
  /** Called all the time, so a prepared statement pays off where the store may have them. */
  readonly hot?: boolean;
}

/** What a room needs of the store. */
export abstract class Caller {
  /** The installed schema that is used. */
  abstract readonly schema: string;
  /** How long a call may take. */
  abstract readonly callTimeoutMs: number;

  /**
   * Calls a function of the schema and answers with its rows: columns in camelCase, bigint as number, except columns
   * that end in `fence`, json parsed, bytea as Buffer, SQL null as null.
   *
   * @throws StoreError, always.
   */
  abstract call<Row extends object>(
    name: string,
    parameters?: Arguments,
    options?: CallOptions,
  ): Promise<Row[]>;

  /** The first row, or null. */
  protected async first<Row extends object>(
    name: string,
    parameters?: Arguments,
    options?: CallOptions,
  ): Promise<Row | null> {
    return (await this.call<Row>(name, parameters, options))[0] ?? null;
  }

  /** What a function that returns one value returned. */
  protected async value<T>(name: string, parameters?: Arguments, options?: CallOptions): Promise<T> {
    const row = await this.first<Record<string, unknown>>(name, parameters, options);
    return Object.values(row ?? {})[0] as T;
  }

  /** For functions that return a set of single values. */
  protected async values<T>(name: string, parameters?: Arguments, options?: CallOptions): Promise<T[]> {
    return (await this.call(name, parameters, options)).map((row) => Object.values(row)[0] as T);
  }
}

/** What the rooms of the hottest functions need besides. */
export abstract class TextCaller extends Caller {
  /** As `call`, with the rows as the server sent them: cheaper where it is known what stands in which column. */
  abstract callForText<Column extends string>(
    name: string,
    parameters?: Arguments,
    options?: CallOptions,
  ): Promise<TextRows<Column>>;
}
