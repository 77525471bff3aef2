export { PgStore, type ConnectOptions, type PgStoreOptions } from "./pg-store.js";
export { PgTx } from "./transaction.js";
export { StoreError, type StoreErrorCode, type StoreErrorFields } from "./errors.js";
export { fingerprint } from "./fingerprint.js";
export { supportedSchema } from "./version.js";
export type { Queryable, Tx } from "./caller.js";
export type * from "./types.js";
