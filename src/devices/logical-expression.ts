import { type ErrorReason, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** An expression over filters by their 1-based numbers. */
export type LogicalExpression =
  | { kind: "filter"; number: number }
  | { kind: "not"; of: LogicalExpression }
  | { kind: "and" | "or"; of: LogicalExpression[] };

/** @source docs/decisions/0038-reliability.md */
const MAX_LENGTH = 4_096;
/** @source docs/decisions/0038-reliability.md */
const MAX_DEPTH = 20;

interface Token {
  text: string;
  /** 1-based position of its first character. */
  at: number;
}

/**
 * Parses an expression such as `(1 AND 2) OR NOT 3`; operators in any case; NOT binds tighter than AND, AND tighter than OR.
 * Numbers count from 1, or from 0 if 0 is among them: `0 AND 1` are the first two filters, as `1 AND 2`. Throws CallerError with the error and its position.
 */
export function parseLogicalExpression(text: string, filterCount: number): LogicalExpression {
  if (text.length > MAX_LENGTH)
    throw expressionError(
      "too-long",
      { max: MAX_LENGTH },
      sentence("field.must-have-at-most-limit-characters", { limit: MAX_LENGTH }),
    );
  const tokens = tokenize(text);
  if (tokens.length === 0) throw expressionError("empty", {}, sentence("field.must-not-be-empty"));
  // Clients count differently; only those that count from 0 write a 0.
  const first = tokens.some(({ text }) => /^0+$/.test(text)) ? 0 : 1;
  return parseTokens(tokens, { first, count: filterCount });
}

/** Evaluates an expression; `holds` evaluates one filter and is called only as far as needed. */
export function evaluateExpression(expression: LogicalExpression, holds: (number: number) => boolean): boolean {
  switch (expression.kind) {
    case "filter":
      return holds(expression.number);
    case "not":
      return !evaluateExpression(expression.of, holds);
    case "and":
      return expression.of.every((part) => evaluateExpression(part, holds));
    case "or":
      return expression.of.some((part) => evaluateExpression(part, holds));
  }
}

/** The reason is for pages, which parse the expression while it is entered. */
function expressionError(code: string, params: ErrorReason["params"], detail: string): Error {
  return invalidValue("logicalExpression", detail, { code: `expression-${code}`, params });
}

function foundAt({ text, at }: Token): { found: string; at: number } {
  return { found: text, at };
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(\d+|[A-Za-z]+|[()]|\S)/gy;
  for (const match of text.matchAll(pattern)) {
    const token = match[1] as string;
    const at = match.index + match[0].length - token.length + 1;
    if (!/^(\d+|AND|OR|NOT|[()])$/i.test(token))
      throw expressionError("unexpected", { token, at }, `Unexpected "${token}" at position ${at}.`);
    tokens.push({ text: token.toUpperCase(), at });
  }
  return tokens;
}

/** How an expression numbers its filters: the number of the first one, and how many there are. */
interface FilterNumbers {
  first: 0 | 1;
  count: number;
}

/** Recursive descent, one function per precedence level. */
function parseTokens(tokens: readonly Token[], filters: FilterNumbers): LogicalExpression {
  let next = 0;

  const series = (kind: "and" | "or", word: string, part: () => LogicalExpression): LogicalExpression => {
    const parts = [part()];
    while (tokens[next]?.text === word) {
      next++;
      parts.push(part());
    }
    return parts.length === 1 ? (parts[0] as LogicalExpression) : { kind, of: parts };
  };

  const either = (depth: number): LogicalExpression =>
    series("or", "OR", () => series("and", "AND", () => single(depth)));

  const single = (depth: number): LogicalExpression => {
    if (depth >= MAX_DEPTH)
      throw expressionError("deep", { max: MAX_DEPTH }, `Must be nested at most ${MAX_DEPTH} levels deep.`);
    const token = tokens[next];
    if (!token)
      throw expressionError(
        "end",
        {},
        "Must end with a filter number or ): found the end of the text, expected a filter number, NOT or (.",
      );
    next++;
    if (token.text === "NOT") return { kind: "not", of: single(depth + 1) };
    if (token.text === "(") return group(token, depth);
    return { kind: "filter", number: filterNumber(token, filters) };
  };

  const group = (opened: Token, depth: number): LogicalExpression => {
    const inner = either(depth + 1);
    const token = tokens[next];
    if (!token) throw expressionError("open", { at: opened.at }, `The ( at position ${opened.at} is not closed.`);
    if (token.text !== ")")
      throw expressionError(
        "expected-close",
        foundAt(token),
        `Expected AND, OR or ) at position ${token.at}, found "${token.text}".`,
      );
    next++;
    return inner;
  };

  const expression = either(0);
  const rest = tokens[next];
  if (rest?.text === ")")
    throw expressionError("closing", { at: rest.at }, `The ) at position ${rest.at} has no matching (.`);
  if (rest)
    throw expressionError(
      "expected-operator",
      foundAt(rest),
      `Expected AND or OR at position ${rest.at}, found "${rest.text}".`,
    );
  return expression;
}

/** The 1-based number of a filter. */
function filterNumber(token: Token, { first, count }: FilterNumbers): number {
  if (!/^\d+$/.test(token.text)) {
    throw expressionError(
      "expected-filter",
      foundAt(token),
      `Expected a filter number, NOT or ( at position ${token.at}, found "${token.text}".`,
    );
  }
  const number = Number(token.text) - first + 1;
  if (number >= 1 && number <= count) return number;
  const found = `found ${token.text} at position ${token.at}.`;
  if (count === 0) throw expressionError("no-filters", foundAt(token), `There are no filters to refer to; ${found}`);
  const last = count - 1 + first;
  const range = `Filter numbers must be between ${first} and ${last}`;
  if (first === 0)
    throw expressionError(
      "range-from-0",
      { ...foundAt(token), last },
      `${range}, because 0 is the first filter here; ${found}`,
    );
  throw expressionError("range", { ...foundAt(token), last }, `${range}; ${found}`);
}
