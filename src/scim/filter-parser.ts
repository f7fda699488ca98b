import { ScimRequestError } from "./scim-error.ts";

/** Comparison operators. */
export type ScimOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";
/** Literals of comparisons. */
export type ScimLiteral = string | number | boolean | null;

/** A parsed filter; attribute paths keep their spelling. */
export type ScimFilter =
  | { op: "and"; all: readonly ScimFilter[] }
  | { op: "or"; all: readonly ScimFilter[] }
  | { op: "not"; filter: ScimFilter }
  | { op: "pr"; path: string }
  | ScimComparison
  /** True when any value of a multi-valued attribute matches. */
  | { op: "one"; path: string; filter: ScimFilter };

/** A comparison of an attribute with a literal. */
export interface ScimComparison {
  op: ScimOperator;
  path: string;
  value: ScimLiteral;
}

/** Limits of a filter: characters and nesting depth. */
const MAX_FILTER_LENGTH = 4_000;
const MAX_DEPTH = 20;

const COMPARISONS: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
/** A string, a bracket, or a word: path, operator, number, true, false, null. */
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y;
const PATH = /^(?:urn:[\w.:-]+:)?[a-z$][\w$-]*(?:\.[a-z$][\w$-]*)?$/i;

/** Parses a filter. Throws ScimRequestError `invalidFilter`. @source RFC 7644 §3.4.2.2 */
export function parseScimFilter(text: string): ScimFilter {
  if (text.length > MAX_FILTER_LENGTH) throw invalidFilter(`Must have at most ${MAX_FILTER_LENGTH} characters.`);
  const tokens = tokenizeFilter(text);
  const reader = { tokens, at: 0 };
  const filter = parseOr(reader, 0, false);
  if (reader.at < tokens.length) throw invalidFilter(`Unexpected token: ${tokens[reader.at]}`);
  return filter;
}

interface TokenReader {
  tokens: readonly string[];
  at: number;
}

function tokenizeFilter(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw invalidFilter("Unterminated string.");
    tokens.push(match[1] ?? match[2] ?? match[3] ?? "");
  }
  return tokens;
}

function parseOr(reader: TokenReader, depth: number, inValue: boolean): ScimFilter {
  return parseJoined(reader, "or", () => parseJoined(reader, "and", () => parseTerm(reader, depth, inValue)));
}

function parseJoined(reader: TokenReader, op: "and" | "or", readPart: () => ScimFilter): ScimFilter {
  const all = [readPart()];
  while (peek(reader)?.toLowerCase() === op) {
    reader.at += 1;
    all.push(readPart());
  }
  return all.length === 1 ? (all[0] as ScimFilter) : { op, all };
}

function parseTerm(reader: TokenReader, depth: number, inValue: boolean): ScimFilter {
  if (depth > MAX_DEPTH) throw invalidFilter(`Must be nested at most ${MAX_DEPTH} levels deep.`);
  const token = nextToken(reader);
  if (token === "(") return parseGroup(reader, depth, inValue);
  if (token.toLowerCase() === "not" && peek(reader) === "(") {
    reader.at += 1;
    return { op: "not", filter: parseGroup(reader, depth, inValue) };
  }
  if (!PATH.test(token)) throw invalidFilter(`Not an attribute path: ${token}`);
  if (peek(reader) === "[" && !inValue) return parseValuePath(reader, token, depth);
  const op = nextToken(reader).toLowerCase();
  if (op === "pr") return { op, path: token };
  if (!COMPARISONS.has(op)) throw invalidFilter(`Unknown operator: ${op}`);
  return { op: op as ScimOperator, path: token, value: parseLiteral(nextToken(reader)) };
}

function parseGroup(reader: TokenReader, depth: number, inValue: boolean): ScimFilter {
  const filter = parseOr(reader, depth + 1, inValue);
  expectToken(reader, ")");
  return filter;
}

/** `emails[type eq "work"]`, optionally followed by a comparison. */
function parseValuePath(reader: TokenReader, path: string, depth: number): ScimFilter {
  reader.at += 1;
  const filter = parseOr(reader, depth + 1, true);
  expectToken(reader, "]");
  const next = peek(reader);
  if (!next?.startsWith(".")) return { op: "one", path, filter };
  reader.at += 1;
  const sub = next.slice(1);
  const op = nextToken(reader).toLowerCase();
  const further: ScimFilter =
    op === "pr" ? { op, path: sub } : { op: op as ScimOperator, path: sub, value: parseLiteral(nextToken(reader)) };
  if (op !== "pr" && !COMPARISONS.has(op)) throw invalidFilter(`Unknown operator: ${op}`);
  return { op: "one", path, filter: { op: "and", all: [filter, further] } };
}

function parseLiteral(token: string): ScimLiteral {
  if (token.startsWith('"')) {
    try {
      return JSON.parse(token) as string;
    } catch {
      throw invalidFilter("Not a valid JSON string.");
    }
  }
  const word = token.toLowerCase();
  if (word === "true" || word === "false") return word === "true";
  if (word === "null") return null;
  if (/^-?\d+(\.\d+)?$/.test(token)) return Number(token);
  throw invalidFilter(`Not a literal: ${token}`);
}

function peek({ tokens, at }: TokenReader): string | undefined {
  return tokens[at];
}

function nextToken(reader: TokenReader): string {
  const token = peek(reader);
  if (token === undefined) throw invalidFilter("Unexpected end.");
  reader.at += 1;
  return token;
}

function expectToken(reader: TokenReader, expected: string): void {
  if (nextToken(reader) !== expected) throw invalidFilter(`Expected ${expected}`);
}

function invalidFilter(detail: string): ScimRequestError {
  return new ScimRequestError("invalidFilter", `The filter is not valid. ${detail}`);
}
