export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median of the ratios run by run, which holds when the machine's speed drifts, with the smallest and the largest. */
export function ratio(of: readonly number[], to: readonly number[]): string {
  const ratios = of.map((value, at) => value / to[at]!);
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)})`;
}
