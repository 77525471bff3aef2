/** Calls `hear` for each SIGTERM or SIGINT with how many there were, until the returned function is called. */
export function onSignals(hear: (times: number) => void): () => void {
  let times = 0;
  const listener = (): void => hear(++times);
  process.on("SIGTERM", listener);
  process.on("SIGINT", listener);
  return () => {
    process.off("SIGTERM", listener);
    process.off("SIGINT", listener);
  };
}
