/** A move that a job may make, as the table `transition` has it. */
export interface Transition {
  readonly from: string;
  readonly event: string;
  readonly to: string;
  readonly guard: string;
}

/** The rows that the migrations insert into the table. */
export function transitionsIn(source: string): Transition[] {
  const inserts = source.matchAll(
    /insert into :SCHEMA\.transition \(from_state, event, to_state, guard\) values([\s\S]*?\));\n/g,
  );
  return [...inserts].flatMap(([, rows = ""]) =>
    [...rows.matchAll(/\('([^']*)', '([^']*)', '([^']*)', '((?:[^']|'')*)'\)/g)].map(
      ([, from = "", event = "", to = "", guard = ""]) => ({
        from,
        event,
        to,
        guard: guard.replaceAll("''", "'"),
      }),
    ),
  );
}

/** How a test of a row is called; a row without one fails the tests. */
export const testName = ({ from, event, to }: Transition): string =>
  `transition ${from} -> ${to} by ${event}`;

const mark = {
  begin: "<!-- drawn by scripts/draw-state-machine.ts -->",
  end: "<!-- end of the drawing -->",
};

/** The page with its drawn part replaced. */
export function redraw(page: string, transitions: readonly Transition[]): string {
  const [before, rest] = page.split(mark.begin, 2);
  const after = rest?.split(mark.end, 2)[1];
  if (after === undefined) throw new Error(`the page lacks ${mark.begin} or ${mark.end}`);
  return `${before}${mark.begin}\n\n${diagram(transitions)}\n\n${table(transitions)}\n\n${mark.end}${after}`;
}

/** One arrow for all events between two states, or a state and the end. */
function diagram(transitions: readonly Transition[]): string {
  const arrows = new Map<string, string[]>();
  for (const { from, event, to } of transitions) {
    const arrow = `${from} --> ${to === "deleted" ? "[*]" : to}`;
    arrows.set(arrow, [...(arrows.get(arrow) ?? []), event]);
  }
  const lines = [
    "[*] --> pending : enqueue, pending",
    "[*] --> scheduled : enqueue, later",
    "[*] --> available : enqueue",
    ...[...arrows].map(([arrow, events]) => `${arrow} : ${events.join(", ")}`),
  ];
  return ["```mermaid", "stateDiagram-v2", ...lines.map((line) => `  ${line}`), "```"].join("\n");
}

function table(transitions: readonly Transition[]): string {
  const rows = transitions.map(({ from, event, to, guard }) => `| ${from} | ${event} | ${to} | ${guard} |`);
  return ["| from | event | to | when, and what it changes |", "|---|---|---|---|", ...rows].join("\n");
}
