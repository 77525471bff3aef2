/**
 * What a migration's transaction sets for itself, so that the settings of a role or database change nothing.
 * The narrow path makes an unqualified name fail instead of landing in `public`.
 */
export function transactionSettings(lockTimeoutMs: number): string {
  return [
    `set local lock_timeout = ${Math.trunc(lockTimeoutMs)};`,
    "set local statement_timeout = 0;",
    "set local idle_in_transaction_session_timeout = 0;",
    "set local search_path = pg_catalog, pg_temp;",
    "set local standard_conforming_strings = on;",
    "set local check_function_bodies = on;",
    "set local client_min_messages = warning;",
  ].join("\n");
}
