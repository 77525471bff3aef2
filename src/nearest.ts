/** What somebody may have meant who wrote `name`; undefined where nothing comes near. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly score: number } | undefined;
  for (const candidate of known) {
    const score = apart(plain(name), plain(candidate));
    if (score !== undefined && (!best || score < best.score)) best = { name: candidate, score };
  }
  return best?.name;
}

/** For the end of a message: `; did you mean …?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** Case and underscores are a matter of taste, and units are left out in some places. */
const plain = (name: string): string =>
  name
    .replace(/(?:_ms|Ms)$/, "")
    .replaceAll("_", "")
    .toLowerCase();

/** The smaller the nearer; undefined: too far. */
function apart(one: string, other: string): number | undefined {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  const edits = distance(short, long);
  if (edits <= Math.max(1, Math.floor(long.length / 4))) return edits;
  return short.length >= 3 && long.includes(short) ? edits : undefined;
}

/** How many letters must be put in, left out or replaced (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= other.length; to++) {
      const replaced = row[to - 1]! + (other[to - 1] === letter ? 0 : 1);
      next.push(Math.min(replaced, row[to]! + 1, next[to - 1]! + 1));
    }
    row = next;
  }
  return row[other.length]!;
}
