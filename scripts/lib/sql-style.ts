import { dollarBody, tokenize, type Token } from "./sql-text.js";

export const maxColumns = 110;

/**
 * The mechanical style of SQL files: lower case, no tabs, no trailing blanks, at most one empty line, lines that fit.
 * Works on tokens and changes only blanks, comments and the case of words, so it can't change what a text means.
 */
export function formatSql(text: string): string {
  const tidy = tidyTokens(tokenize(text.replace(/\r\n?/g, "\n")));
  return breakLines(wrapDescriptions(tidy.trim() + "\n"));
}

/** The text of each `comment on … is`, filled to the width; one that was continued over lines is joined first. */
function wrapDescriptions(text: string): string {
  return text.replace(
    /^(comment on [^']*?)\s+is\s+((?:'(?:[^'\n]|'')*'\s*)+);$/gm,
    (_, head: string, literals: string) => {
      const content = [...literals.matchAll(/'((?:[^'\n]|'')*)'/g)].map((part) => part[1]).join("");
      const oneLine = `${head} is '${content}';`;
      if (oneLine.length <= maxColumns) return oneLine;
      const lines = fill(content, maxColumns - 4).map((line) => `  '${line}'`);
      return `${head} is\n${lines.join("\n")};`;
    },
  );
}

/** Cuts a text behind blanks into pieces of at most so many characters; nothing is lost. */
function fill(text: string, width: number): string[] {
  const pieces: string[] = [];
  for (const word of text.match(/\S*\s*/g) ?? []) {
    const last = pieces.at(-1);
    if (last !== undefined && (last + word).length <= width) pieces[pieces.length - 1] = last + word;
    else if (word !== "") pieces.push(word);
  }
  return pieces;
}

/** Lines that even the formatter could not make fit. */
export function longLines(text: string): number[] {
  return text.split("\n").flatMap((line, at) => (line.length > maxColumns ? [at + 1] : []));
}

function tidyTokens(tokens: readonly Token[]): string {
  return tokens
    .map((token, at) => {
      switch (token.kind) {
        case "word":
          return token.text.toLowerCase();
        case "blank":
          return tidyBlank(token.text, at + 1 === tokens.length);
        case "comment":
          return token.text.replace(/[ \t]+$/gm, "").replaceAll("\t", "  ");
        case "dollar":
          return tidyDollar(token);
        default:
          return token.text;
      }
    })
    .join("");
}

function tidyDollar(token: Token): string {
  const { text } = dollarBody(token);
  const mark = token.text.slice(0, token.text.indexOf("$", 1) + 1);
  return mark + tidyTokens(tokenize(text)) + mark;
}

function tidyBlank(text: string, last: boolean): string {
  const lines = text.replaceAll("\t", "  ").split("\n");
  if (lines.length === 1) return last ? "" : (lines[0] ?? "");
  const indent = lines.at(-1) ?? "";
  return (lines.length > 2 ? "\n\n" : "\n") + indent;
}

/** A place where a line may end. */
interface Break {
  readonly at: number;
  /** The best of several has the highest. */
  readonly rank: number;
}

function breakLines(text: string): string {
  let done = "";
  let rest = text;
  for (;;) {
    const line = /^(?:(?!\n).){111,}/m.exec(rest);
    if (!line) return done + rest;
    const start = line.index;
    const found = bestBreak(done + rest, done.length + start, line[0]);
    if (!found) {
      const end = start + line[0].length;
      done += rest.slice(0, end);
      rest = rest.slice(end);
      continue;
    }
    const indent = /^ */.exec(line[0])?.[0] ?? "";
    const at = start + found.at;
    done += rest.slice(0, at).trimEnd() + "\n";
    rest = carry(rest.slice(at).trimStart(), indent, line[0]);
  }
}

/** Puts what was cut off at the beginning of a new line, or of the next one where that continues the same list. */
function carry(rest: string, indent: string, line: string): string {
  const end = rest.indexOf("\n");
  const tail = rest.slice(0, end);
  const next = rest.slice(end + 1);
  if (/^ *--/.test(line)) {
    const mark = `${indent}-- `;
    return next.startsWith(mark) ? `${mark}${tail} ${next.slice(mark.length)}` : `${mark}${tail}\n${next}`;
  }
  const connective = /^(and|or|\|\|) /;
  const level = connective.test(line.trimStart()) && connective.test(tail) ? indent : indent + "  ";
  const continues = tail.endsWith(",") && next.startsWith(level) && /^[\w:'(]/.test(next.slice(level.length));
  return continues ? `${level}${tail} ${next.slice(level.length)}` : `${level}${tail}\n${next}`;
}

function bestBreak(text: string, lineStart: number, line: string): Break | undefined {
  const breaks = breaksOf(text, lineStart, line).filter(({ at }) => at <= maxColumns + 1);
  const indent = /^ */.exec(line)?.[0].length ?? 0;
  // Far to the left is worse than in the middle of a phrase.
  const usable = breaks.filter(({ at }) => at > Math.max(indent + 20, 50));
  return usable.sort((a, b) => b.rank - a.rank || b.at - a.at)[0];
}

/** Every blank outside strings, and in a comment of its own line every blank as well. */
function breaksOf(text: string, lineStart: number, line: string): Break[] {
  const breaks: Break[] = [];
  let depth = 0;
  for (const token of flatTokens(text)) {
    const from = token.at - lineStart;
    const to = from + token.text.length;
    if (to <= 0) continue;
    if (from >= line.length) break;
    if (/^[([]$/.test(token.text)) depth++;
    if (/^[)\]]$/.test(token.text)) depth--;
    if (token.kind === "blank" && from > 0) {
      const before = line[from - 1];
      const after = line.slice(to);
      const joint =
        before === "," ||
        /^(and|or|then|from|where|else|when|set|values)\b/.test(after) ||
        after.startsWith("||");
      breaks.push({ at: to, rank: (joint ? 20 : 10) - depth });
    } else if (token.kind === "comment" && from >= 0 && token.text.startsWith("--")) {
      if (from === /^ */.exec(line)?.[0].length) {
        for (const blank of token.text.matchAll(/ /g)) {
          if (blank.index > 2) breaks.push({ at: from + blank.index + 1, rank: 0 });
        }
      } else breaks.push({ at: from, rank: 1 });
    }
  }
  return breaks;
}

/** The tokens with those of dollar-quoted bodies in place of the bodies. */
export function flatTokens(text: string, at = 0): Token[] {
  return tokenize(text).flatMap((token) => {
    const here = { ...token, at: token.at + at };
    if (token.kind !== "dollar") return [here];
    const body = dollarBody(here);
    return flatTokens(body.text, body.at);
  });
}
