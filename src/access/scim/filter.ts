import { ScimRefusal } from "./refusal.ts";

/** How two values are compared. */
export type Comparison = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";
/** What values are compared with. */
export type Literal = string | number | boolean | null;

/** A filter as it was written; attribute paths keep their spelling. */
export type Filter =
  | { op: "and"; all: readonly Filter[] }
  | { op: "or"; all: readonly Filter[] }
  | { op: "not"; filter: Filter }
  | { op: "pr"; path: string }
  | Compared
  /** One value of a multi-valued attribute fulfils the filter. */
  | { op: "one"; path: string; filter: Filter };

/** An attribute compared with a value. */
export interface Compared {
  op: Comparison;
  path: string;
  value: Literal;
}

/** What a filter may be at most. own choice: more than any directory sends. */
const MOST_SIGNS = 4_000;
const MOST_DEPTH = 20;

const COMPARISONS: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
/** A text, a bracket, or a word: a path, an operator, a number, true, false, null. */
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y;
const PATH = /^(?:urn:[\w.:-]+:)?[a-z$][\w$-]*(?:\.[a-z$][\w$-]*)?$/i;

/** Reads a filter. Throws ScimRefusal `invalidFilter`. @source RFC 7644 §3.4.2.2 */
export function parseFilter(text: string): Filter {
  if (text.length > MOST_SIGNS) throw refused("It is too long.");
  const tokens = tokensOf(text);
  const reader = { tokens, at: 0 };
  const filter = readOr(reader, 0, false);
  if (reader.at < tokens.length) throw refused(`It goes on after its end: ${tokens[reader.at]}`);
  return filter;
}

interface Tokens {
  tokens: readonly string[];
  at: number;
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw refused("A text has no end.");
    tokens.push(match[1] ?? match[2] ?? match[3] ?? "");
  }
  return tokens;
}

function readOr(reader: Tokens, depth: number, inValue: boolean): Filter {
  return readJoined(reader, "or", () => readJoined(reader, "and", () => readTerm(reader, depth, inValue)));
}

function readJoined(reader: Tokens, op: "and" | "or", readPart: () => Filter): Filter {
  const all = [readPart()];
  while (peek(reader)?.toLowerCase() === op) {
    reader.at += 1;
    all.push(readPart());
  }
  return all.length === 1 ? (all[0] as Filter) : { op, all };
}

function readTerm(reader: Tokens, depth: number, inValue: boolean): Filter {
  if (depth > MOST_DEPTH) throw refused("It is nested too deep.");
  const token = take(reader);
  if (token === "(") return readGroup(reader, depth, inValue);
  if (token.toLowerCase() === "not" && peek(reader) === "(") {
    reader.at += 1;
    return { op: "not", filter: readGroup(reader, depth, inValue) };
  }
  if (!PATH.test(token)) throw refused(`It names no attribute: ${token}`);
  if (peek(reader) === "[" && !inValue) return readValuePath(reader, token, depth);
  const op = take(reader).toLowerCase();
  if (op === "pr") return { op, path: token };
  if (!COMPARISONS.has(op)) throw refused(`There is no such operator: ${op}`);
  return { op: op as Comparison, path: token, value: literalOf(take(reader)) };
}

function readGroup(reader: Tokens, depth: number, inValue: boolean): Filter {
  const filter = readOr(reader, depth + 1, inValue);
  expect(reader, ")");
  return filter;
}

/** `emails[type eq "work"]`, with a comparison behind the brackets or without. */
function readValuePath(reader: Tokens, path: string, depth: number): Filter {
  reader.at += 1;
  const filter = readOr(reader, depth + 1, true);
  expect(reader, "]");
  const next = peek(reader);
  if (!next?.startsWith(".")) return { op: "one", path, filter };
  reader.at += 1;
  const sub = next.slice(1);
  const op = take(reader).toLowerCase();
  const further: Filter =
    op === "pr" ? { op, path: sub } : { op: op as Comparison, path: sub, value: literalOf(take(reader)) };
  if (op !== "pr" && !COMPARISONS.has(op)) throw refused(`There is no such operator: ${op}`);
  return { op: "one", path, filter: { op: "and", all: [filter, further] } };
}

function literalOf(token: string): Literal {
  if (token.startsWith('"')) {
    try {
      return JSON.parse(token) as string;
    } catch {
      throw refused("A text is not valid JSON.");
    }
  }
  const word = token.toLowerCase();
  if (word === "true" || word === "false") return word === "true";
  if (word === "null") return null;
  if (/^-?\d+(\.\d+)?$/.test(token)) return Number(token);
  throw refused(`It compares with what is no value: ${token}`);
}

function peek({ tokens, at }: Tokens): string | undefined {
  return tokens[at];
}

function take(reader: Tokens): string {
  const token = peek(reader);
  if (token === undefined) throw refused("It ends too early.");
  reader.at += 1;
  return token;
}

function expect(reader: Tokens, sign: string): void {
  if (take(reader) !== sign) throw refused(`Here should be ${sign}`);
}

function refused(detail: string): ScimRefusal {
  return new ScimRefusal("invalidFilter", `The filter is not valid. ${detail}`);
}
