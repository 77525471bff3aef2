import { basename, dirname } from "node:path";
import {
  functionBody,
  ours,
  parseable,
  parseStatements,
  walk,
  type Node,
  type ParsedStatement,
} from "./sql-ast.js";
import { flatTokens } from "./sql-style.js";
import { place } from "./sql-text.js";

export interface Complaint {
  readonly line: number;
  readonly text: string;
}

/** What the rules need to know of the other files. */
export interface Names {
  readonly functions: ReadonlySet<string>;
  /** Tables, views and types. */
  readonly types: ReadonlySet<string>;
}

const folders = new Set(
  "enqueue admit settle sweep schedule policy control inspect backend internal".split(" "),
);

/** Files that may do what no other may, each for a reason. Paths are relative to sql/functions. */
export const allowed = {
  raise: new Set(["internal/raise_error.sql"]),
  clock: new Set(["internal/clock_ms.sql"]),
  // Runs with the caller's rights: what it calls is granted to some and not to others.
  invoker: new Set(["inspect/get_job.sql", "policy/quarantine_list.sql"]),
  // Statements whose object is named by a value: grants to a role, partitions of the archive, every table of a test schema.
  dynamic: new Set<string>([
    "sweep/drop_archive_months.sql",
    "internal/apply_grants.sql",
    "internal/empty_test_schema.sql",
    "sweep/prune_archive_month.sql",
    "internal/make_archive_partition.sql",
  ]),
};

const clocks = new Set("now transaction_timestamp statement_timestamp clock_timestamp timeofday".split(" "));
const clockWords = new Set(
  "SVFOP_CURRENT_TIMESTAMP SVFOP_CURRENT_TIMESTAMP_N SVFOP_LOCALTIMESTAMP SVFOP_LOCALTIMESTAMP_N SVFOP_CURRENT_DATE SVFOP_CURRENT_TIME SVFOP_CURRENT_TIME_N SVFOP_LOCALTIME SVFOP_LOCALTIME_N".split(
    " ",
  ),
);
const dynamicSteps = new Set(["PLpgSQL_stmt_dynexecute", "PLpgSQL_stmt_dynfors"]);

/** The names that a text defines in our schema. */
export function definedTypes(text: string): string[] {
  const names: string[] = [];
  for (const [, name = ""] of text.matchAll(
    /create (?:or replace )?(?:type|table|view|domain) :SCHEMA\.(\w+)/g,
  )) {
    names.push(name);
  }
  return names;
}

/** Rules for any SQL of ours. */
export function checkText(text: string): Complaint[] {
  const complaints: Complaint[] = [];
  const complain = (at: number, message: string): void =>
    void complaints.push({ line: place(text, at).line, text: message });
  for (const match of text.matchAll(/:[A-Z][0-9A-Z_]+\b/g)) {
    if (match[0] !== ":SCHEMA" && match[0] !== ":SCHEMA_LITERAL") {
      complain(
        match.index,
        `${match[0]} looks like a placeholder; a host's graphile-migrate would replace it`,
      );
    }
  }
  for (const token of flatTokens(text)) {
    // A name with a quote in it would end the string.
    if (token.kind === "string" && /:SCHEMA(_LITERAL)?\b/.test(token.text)) {
      complain(token.at, "a placeholder inside a string; use :SCHEMA_LITERAL as the string");
    }
  }
  return complaints;
}

/** Rules for a file under sql/functions. */
export function checkFile(file: string, text: string, names: Names): Complaint[] {
  const complaints = checkText(text);
  const complain = (line: number, message: string): void => void complaints.push({ line, text: message });
  const name = basename(file, ".sql");
  if (!folders.has(dirname(file))) complain(1, `unknown folder ${dirname(file)}`);
  if (!/^[a-z][a-z0-9_]*$/.test(name)) complain(1, "file names are in snake_case");

  const parsed = parseable(text);
  let statements: ParsedStatement[];
  try {
    statements = parseStatements(parsed);
  } catch (error) {
    return [...complaints, syntaxComplaint(text, error)];
  }
  const lineOf = (statement: ParsedStatement): number =>
    place(text, statement.at + (/\S/.exec(statement.text)?.index ?? 0)).line;

  const creations = statements.filter(({ kind }) => kind === "CreateFunctionStmt" || kind === "ViewStmt");
  const [creation] = creations;
  if (creations.length !== 1 || !creation) {
    complain(1, `one function or view a file, not ${creations.length}`);
    return complaints;
  }
  const isView = creation.kind === "ViewStmt";
  const object = isView ? relationName(creation.node["view"]) : dotted(creation.node["funcname"]);
  if (creation.node["replace"] !== true) complain(lineOf(creation), "create or replace");
  if (object !== `${ours}.${name}`) complain(lineOf(creation), `must create :SCHEMA.${name}`);
  if (!/:SCHEMA\.\w+\s*[(]/.test(text) && !isView)
    complain(lineOf(creation), "an opening parenthesis after the name");

  const kindOfComment = isView ? "OBJECT_VIEW" : "OBJECT_FUNCTION";
  const commented = statements.some(
    ({ kind, node }) =>
      kind === "CommentStmt" && node["objtype"] === kindOfComment && Boolean(node["comment"]),
  );
  if (!commented) complain(1, `comment on ${isView ? "view" : "function"} is missing`);
  if (!isView && !statements.some(revokesFromPublic)) {
    complain(1, "revoke all on function … from public is missing");
  }
  try {
    complaints.push(...(isView ? [] : checkFunction(file, text, creation, lineOf(creation))));
    complaints.push(...checkNames(file, text, creation, names, lineOf(creation)));
  } catch (error) {
    complaints.push(syntaxComplaint(text, error));
  }
  return complaints;
}

function checkFunction(file: string, text: string, creation: ParsedStatement, line: number): Complaint[] {
  const complaints: Complaint[] = [];
  const complain = (message: string, at = line): void => void complaints.push({ line: at, text: message });
  const { options, language, body } = functionParts(creation);
  if (!["sql", "plpgsql"].includes(language)) complain("language must be sql or plpgsql");
  if (!options.has("volatility")) complain("say volatile, stable or immutable");
  const definer = JSON.stringify(options.get("security")) === '{"Boolean":{"boolval":true}}';
  if (!definer && !allowed.invoker.has(file)) complain("security definer is missing");
  if (!pinsPath(creation.node)) complain("set search_path = pg_catalog, pg_temp is missing");
  if (body === undefined) return complaints;

  const first = place(text, text.indexOf("$")).line;
  for (const { name, node, line: inside } of functionBody(creation, language, body).steps) {
    const at = first + inside - 1;
    if (name === "PLpgSQL_stmt_raise" && !allowed.raise.has(file))
      complain("raise only in internal/raise_error.sql", at);
    const dynamic = dynamicSteps.has(name) || "dynquery" in node;
    if (dynamic && !allowed.dynamic.has(file)) complain("dynamic SQL (execute)", at);
  }
  return complaints;
}

function checkNames(
  file: string,
  text: string,
  creation: ParsedStatement,
  names: Names,
  line: number,
): Complaint[] {
  const complaints: Complaint[] = [];
  const { language, body } = functionParts(creation);
  const first = place(text, text.indexOf("$")).line;
  const pieces =
    creation.kind === "ViewStmt" || body === undefined
      ? [{ tree: creation.node, at: line }]
      : [
          { tree: headOf(creation.node), at: line },
          ...functionBody(creation, language, body).pieces.map((piece) => ({
            tree: piece.tree,
            at: first + piece.line - 1,
          })),
        ];
  for (const { tree, at } of pieces) {
    const complain = (message: string): void => void complaints.push({ line: at, text: message });
    const withNames = new Set<string>();
    walk(tree, (kind, node) => {
      if (kind === "CommonTableExpr") withNames.add(String(node["ctename"]));
      // `for update of` names an alias.
      if (kind === "LockingClause") walk(node, (_, alias) => void withNames.add(String(alias["relname"])));
    });
    walk(tree, (kind, node) => {
      if (kind === "RangeVar" && node["schemaname"] === undefined) {
        const relation = String(node["relname"]);
        if (!withNames.has(relation) && !relation.startsWith("pg_") && !transitionTables.has(relation)) {
          complain(`${relation} without :SCHEMA`);
        }
      }
      if (kind === "FuncCall") {
        const called = dotted(node["funcname"]);
        if (names.functions.has(called)) complain(`${called}() without :SCHEMA`);
        if (clocks.has(called.replace("pg_catalog.", "")) && !allowed.clock.has(file)) {
          complain(`${called}(): the clock is :SCHEMA.now_ms()`);
        }
        if (called === "format" && !allowed.dynamic.has(file)) complain("format() is for dynamic SQL");
      }
      if (kind === "SQLValueFunction" && clockWords.has(String(node["op"])) && !allowed.clock.has(file)) {
        complain("the clock is :SCHEMA.now_ms()");
      }
      if (kind === "TypeName" || kind === "typeName" || kind === "argType" || kind === "returnType") {
        const type = dotted(node["names"]);
        if (names.types.has(type)) complain(`type ${type} without :SCHEMA`);
      }
    });
  }
  return complaints;
}

/** What a trigger's transition tables are called. */
const transitionTables = new Set(["old_rows", "new_rows"]);

/** A function without its body and settings. */
function headOf(node: Node): Node {
  return { parameters: node["parameters"], returnType: node["returnType"] };
}

function functionParts({ node }: ParsedStatement): {
  options: Map<string, unknown>;
  language: string;
  body?: string;
} {
  const options = new Map<string, unknown>();
  for (const option of list(node["options"])) {
    const element = (option as { DefElem?: { defname: string; arg: unknown } }).DefElem;
    if (element) options.set(element.defname, element.arg);
  }
  const language = text(options.get("language"));
  const as = options.get("as") as { List?: { items: unknown[] } } | undefined;
  const body = as?.List?.items[0];
  return body === undefined ? { options, language } : { options, language, body: text(body) };
}

function pinsPath(node: Node): boolean {
  return list(node["options"]).some((option) => {
    const set = (option as { DefElem?: { arg?: { VariableSetStmt?: Node } } }).DefElem?.arg?.VariableSetStmt;
    const path = list(set?.["args"]).map(
      (value) => (value as { A_Const?: { sval?: { sval: string } } }).A_Const?.sval?.sval,
    );
    return set?.["name"] === "search_path" && path.join(", ") === "pg_catalog, pg_temp";
  });
}

function revokesFromPublic({ kind, node }: ParsedStatement): boolean {
  if (kind !== "GrantStmt" || node["is_grant"] === true || node["objtype"] !== "OBJECT_FUNCTION")
    return false;
  const fromPublic = list(node["grantees"]).some((grantee) =>
    JSON.stringify(grantee).includes("ROLESPEC_PUBLIC"),
  );
  return fromPublic && list(node["privileges"]).length === 0;
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const text = (value: unknown): string =>
  (value as { String?: { sval?: string } } | undefined)?.String?.sval ?? "";
const dotted = (value: unknown): string => list(value).map(text).join(".");

function relationName(value: unknown): string {
  const { schemaname, relname } = value as { schemaname?: string; relname?: string };
  return `${schemaname ?? ""}.${relname ?? ""}`;
}

function syntaxComplaint(source: string, error: unknown): Complaint {
  const position = (error as { sqlDetails?: { cursorPosition?: number } }).sqlDetails?.cursorPosition;
  const line = position === undefined ? 1 : place(source, Math.max(0, position)).line;
  return { line, text: error instanceof Error ? error.message : String(error) };
}
