const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, or a text such as `"250ms"`, `"30s"`, `"5m"`, `"1h30m"`, `"7d"`. */
export type Duration = number | string;

/**
 * A duration in whole milliseconds.
 *
 * @throws RangeError where it is negative, no number, or a text of another form.
 */
export function milliseconds(duration: Duration, name = "duration"): number {
  if (typeof duration === "number") {
    if (!Number.isFinite(duration) || duration < 0) {
      throw new RangeError(`${name} must be a number of milliseconds >= 0, not ${duration}`);
    }
    return Math.round(duration);
  }
  const text = typeof duration === "string" ? duration.trim() : "";
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d)\s*)+$/.test(text)) {
    throw new RangeError(
      `${name} must look like 250ms, 30s, 5m, 1h30m or 7d, not ${JSON.stringify(duration)}`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (units[unit ?? ""] ?? Number.NaN);
  }
  return Math.round(total);
}

/** As `milliseconds`, and undefined stays undefined. */
export function optionalMilliseconds(duration: Duration | undefined, name: string): number | undefined {
  return duration === undefined ? undefined : milliseconds(duration, name);
}
