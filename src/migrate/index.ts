export { migrate, type MigrateOptions, type MigrateResult } from "./migrate.js";
export { status, type MigrationStatus, type StatusOptions } from "./status.js";
export { compileSql, type CompileOptions } from "./compile.js";
export { MigrationError } from "./errors.js";
export type { AppliedMigration } from "./ledger.js";
export type { InvalidIndex } from "./indexes.js";
