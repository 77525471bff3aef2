/** The place of an error in a migration's text: its line, and the included file with the line in there. */
export function locate(text: string, position: number): string {
  const lines = text.slice(0, position).split("\n");
  const line = lines.length;
  for (let at = line - 1; at >= 0; at--) {
    const mark = /^--! (Included|EndIncluded) (\S+)$/.exec(lines[at] ?? "");
    if (mark?.[1] === "EndIncluded") break;
    if (mark) return `line ${line}, ${mark[2]} line ${line - 1 - at}`;
  }
  return `line ${line}`;
}
