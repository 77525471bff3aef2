import type pg from "pg";
import { functionFiles } from "./source.js";

/** What the installed schema says about itself: its doors, the views, and the rows that the doors return. */
export interface SqlApi {
  readonly functions: readonly ApiFunction[];
  readonly relations: readonly ApiRelation[];
}

interface ApiFunction {
  readonly name: string;
  readonly arguments: string;
  readonly result: string;
  readonly comment: string;
  /** Who may be granted it; empty: the owner of the schema only. */
  readonly duties: readonly string[];
  /** The folder of its file. */
  readonly purpose: string;
}

interface ApiRelation {
  readonly name: string;
  readonly kind: "view" | "type";
  readonly comment: string;
  readonly columns: readonly string[];
}

/** Doors for the owner of the schema, which no duty opens. */
const ownersDoors = [
  "grant_access",
  "revoke_access",
  "set_transition_guard",
  "schema_version",
  "apply_grants",
];

const purposes: Readonly<Record<string, string>> = {
  enqueue: "Putting jobs in",
  admit: "Claiming jobs",
  settle: "Ending attempts, and what a holder may write",
  sweep: "What time does",
  schedule: "Periodic jobs",
  policy: "What an operator sets",
  control: "What an operator does to jobs, workers and queues",
  inspect: "Looking",
  backend: "The QueueBackend surface",
  internal: "For whoever operates the schema",
};

/** Reads it from the catalog of an install. */
export async function readApi(client: pg.ClientBase | pg.Pool, schema: string): Promise<SqlApi> {
  const folders = new Map(
    (await functionFiles()).map((file): [string, string] => {
      const [folder = "", name = ""] = file.split("/");
      return [name.replace(/\.sql$/, ""), folder];
    }),
  );
  const { rows: doors } = await client.query<{ duty: string; door: string }>(
    `select duty, door from "${schema}".doors() order by duty`,
  );
  const { rows: functions } = await client.query<Omit<ApiFunction, "duties" | "purpose">>(
    `select p.proname as name, pg_get_function_arguments(p.oid) as arguments, pg_get_function_result(p.oid) as result,
      coalesce(obj_description(p.oid, 'pg_proc'), '') as comment
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = $1 and (p.proname = any ($2) or p.proname = any ($3))
    order by p.proname, arguments`,
    [schema, doors.map(({ door }) => door), ownersDoors],
  );
  const { rows: relations } = await client.query<ApiRelation>(
    `select c.relname as name, case c.relkind when 'v' then 'view' else 'type' end as kind,
      coalesce(obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type'), '') as comment,
      array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = $1 and c.relkind in ('v', 'c')
    group by c.oid
    order by c.relname`,
    [schema],
  );
  return {
    functions: functions.map((each) => ({
      ...each,
      duties: doors.filter(({ door }) => door === each.name).map(({ duty }) => duty),
      purpose: folders.get(each.name) ?? "internal",
    })),
    // Of the types only those that a door returns.
    relations: relations.filter(
      ({ name, kind }) =>
        kind === "view" || functions.some(({ result }) => new RegExp(`(^|[ .])${name}$`).test(result)),
    ),
  };
}

const mark = {
  begin: "<!-- written by scripts/write-sql-api.ts -->",
  end: "<!-- end of what is written -->",
};

/** The page with its written part replaced. */
export function rewrite(page: string, api: SqlApi): string {
  const [before, rest] = page.split(mark.begin, 2);
  const after = rest?.split(mark.end, 2)[1];
  if (after === undefined) throw new Error(`the page lacks ${mark.begin} or ${mark.end}`);
  return `${before}${mark.begin}\n\n${render(api)}\n\n${mark.end}${after}`;
}

function render({ functions, relations }: SqlApi): string {
  const parts: string[] = [];
  for (const [purpose, title] of Object.entries(purposes)) {
    const doors = functions.filter((each) => each.purpose === purpose);
    if (doors.length > 0) parts.push(`## ${title}`, ...doors.map(renderFunction));
  }
  for (const [kind, title] of [
    ["view", "Views"],
    ["type", "Rows that functions return"],
  ] as const) {
    parts.push(`## ${title}`, ...relations.filter((each) => each.kind === kind).map(renderRelation));
  }
  return parts.join("\n\n");
}

function renderFunction(door: ApiFunction): string {
  // The types of defaults are those of their arguments.
  const plain = door.arguments.replace(/ DEFAULT (NULL|'[^']*')::[a-z ]+(\[\])?/g, " default $1");
  const list =
    plain === ""
      ? ""
      : `\n  ${splitTopLevel(plain.replaceAll(" DEFAULT ", " default ").replaceAll(" NULL", " null")).join(",\n  ")}\n`;
  const who = door.duties.length > 0 ? door.duties.join(", ") : "the owner of the schema only";
  return [
    `### ${door.name}`,
    "",
    "```sql",
    `${door.name}(${list}) returns ${splitTopLevel(door.result).join(", ")}`,
    "```",
    "",
    door.comment,
    "",
    `For: ${who}.`,
  ].join("\n");
}

function renderRelation({ name, comment, columns }: ApiRelation): string {
  return [`### ${name}`, "", comment, "", ...columns.map((column) => `- \`${column}\``)].join("\n");
}

/** Splits at commas that stand in no parenthesis and no quotes. */
function splitTopLevel(text: string): string[] {
  const pieces = [""];
  let depth = 0;
  let quoted = false;
  for (const character of text) {
    if (character === "'") quoted = !quoted;
    if (!quoted && "([".includes(character)) depth++;
    if (!quoted && ")]".includes(character)) depth--;
    if (character === "," && depth === 0 && !quoted) pieces.push("");
    else pieces[pieces.length - 1] += character;
  }
  return pieces.map((piece) => piece.trim());
}
