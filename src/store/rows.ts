import pg from "pg";

type Parse = (text: string) => unknown;

const builtin = (oid: number): Parse => pg.types.getTypeParser(oid, "text") as Parse;
/** The other form is what a session with bytea_output = escape sends. */
export const parseBytes = (text: string): Buffer =>
  text.startsWith("\\x") ? Buffer.from(text.slice(2), "hex") : (builtin(17)(text) as Buffer);
/** Is there, but not in the types. */
const { arrayParser } = pg.types as unknown as {
  arrayParser: {
    create<Entry>(text: string, transform: (entry: string | null) => Entry): { parse(): Entry[] };
  };
};
const parseArray =
  <Entry>(parse: (text: string) => Entry) =>
  (text: string): Entry[] =>
    arrayParser.create(text, (entry) => (entry === null ? (null as Entry) : parse(entry))).parse();

/** By type. Ours, so that parsers which an application set for itself don't change what we read. */
const parsers: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [16, (text) => text === "t"],
  [17, parseBytes],
  [20, BigInt],
  [21, Number],
  [23, Number],
  [700, Number],
  [701, Number],
  [1700, Number],
  [114, JSON.parse],
  [3802, JSON.parse],
  [1009, (text) => parseTexts(text)],
  [1007, parseArray(Number)],
  [1016, parseArray(Number)],
]);

const asText = (text: string): string => text;
export const parseTexts = parseArray(asText);

/** For the `types` of a query. */
export const rowTypes = {
  getTypeParser: ((oid: number) => parsers.get(oid) ?? asText) as typeof pg.types.getTypeParser,
};

/** For the `types` of a query whose rows somebody reads by hand. */
export const textTypes = { getTypeParser: (() => asText) as typeof pg.types.getTypeParser };

/** A row as the server sent it. */
export type TextRow = readonly (string | null)[];

/** Rows as the server sent them, and where in them each column stands. */
export interface TextRows<Column extends string> {
  readonly at: Readonly<Record<Column, number>>;
  readonly rows: readonly TextRow[];
}

/** What is there of a value; null of SQL null, and of a column that an older schema has not. */
export const maybe = <T>(text: string | null | undefined, parse: (text: string) => T): T | null =>
  text === null || text === undefined ? null : parse(text);

const names = new Map<string, string>();

function camelCase(name: string): string {
  let camel = names.get(name);
  if (camel === undefined) {
    camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    names.set(name, camel);
  }
  return camel;
}

/** A row of SQL as an object of ours: names in camelCase, bigints as numbers, except fences, which stay bigint. */
export function camelRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    result[camelCase(name)] = typeof value === "bigint" && !name.endsWith("fence") ? Number(value) : value;
  }
  return result;
}
