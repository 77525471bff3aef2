/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.href;
}

/** The same database by way of another address, such as a proxy's. */
export function withAddress(url: string, host: string, port: number): string {
  const changed = new URL(url);
  changed.hostname = host;
  changed.port = String(port);
  return changed.href;
}
