/** A piece of SQL text. Together the tokens are the text. */
export interface Token {
  readonly kind:
    "blank" | "comment" | "string" | "dollar" | "quoted" | "placeholder" | "word" | "number" | "symbol";
  readonly text: string;
  readonly at: number;
}

const patterns: readonly (readonly [Token["kind"], RegExp])[] = [
  ["blank", /\s+/y],
  ["comment", /--[^\n]*/y],
  ["string", /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y],
  ["string", /(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'/y],
  ["quoted", /(?:[uU]&)?"(?:[^"]|"")*"/y],
  ["dollar", /\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$[\s\S]*?\$\1\$/y],
  ["placeholder", /:[A-Z][0-9A-Z_]+\b/y],
  ["number", /\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+/y],
  ["word", /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y],
  ["symbol", /::|:=|=>|\.\.|<>|<=|>=|!=|\|\||->>|->|[\s\S]/y],
];

/** Cuts SQL into tokens; a dollar-quoted body is one token, to be cut again by whoever knows what it holds. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    const token = blockComment(text, at) ?? match(text, at);
    tokens.push(token);
    at += token.text.length;
  }
  return tokens;
}

function match(text: string, at: number): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found && found[0].length > 0) return { kind, text: found[0], at };
  }
  return { kind: "symbol", text: text.slice(at, at + 1), at };
}

/** Block comments nest, which a regular expression does not. */
function blockComment(text: string, at: number): Token | undefined {
  if (!text.startsWith("/*", at)) return undefined;
  let depth = 0;
  const mark = /\/\*|\*\//g;
  mark.lastIndex = at;
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return { kind: "comment", text: text.slice(at, mark.lastIndex), at };
  }
  return { kind: "comment", text: text.slice(at), at };
}

/** What is between the quotes of a dollar-quoted token, and where that begins. */
export function dollarBody(token: Token): { text: string; at: number } {
  const mark = token.text.indexOf("$", 1) + 1;
  return { text: token.text.slice(mark, token.text.length - mark), at: token.at + mark };
}

export interface Statement {
  readonly text: string;
  /** Of the first character that is neither blank nor comment. */
  readonly at: number;
}

/** Cuts a script into its statements. */
export function statements(text: string): Statement[] {
  const found: Statement[] = [];
  let start: number | undefined;
  for (const token of tokenize(text)) {
    if (token.kind === "blank" || token.kind === "comment") continue;
    if (token.text === ";") {
      if (start !== undefined) found.push({ text: text.slice(start, token.at), at: start });
      start = undefined;
    } else start ??= token.at;
  }
  if (start !== undefined) found.push({ text: text.slice(start), at: start });
  return found;
}

/** Line and column, both from 1. */
export function place(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return { line, column: at - before.lastIndexOf("\n") };
}
