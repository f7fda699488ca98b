import { invalidValue } from "../lib/errors.ts";

/** A combination of filters by their 1-based numbers. */
export type LogicalExpression =
  | { kind: "filter"; number: number }
  | { kind: "not"; of: LogicalExpression }
  | { kind: "and" | "or"; of: LogicalExpression[] };

/** @source reliability.md T10 */
const MAX_LENGTH = 4_096;
/** @source reliability.md T10 */
const MAX_DEPTH = 20;

interface Token {
  text: string;
  /** Place of its first character, from 1. */
  at: number;
}

/**
 * Reads an expression such as `(1 AND 2) OR NOT 3`: words in any case; NOT binds before AND, AND before OR.
 * Numbers lie within 1..`filterCount`. Throws CallerError that says what is wrong and where.
 */
export function parseLogicalExpression(text: string, filterCount: number): LogicalExpression {
  if (text.length > MAX_LENGTH) throw expressionError(`At most ${MAX_LENGTH} characters are allowed.`);
  const tokens = tokenize(text);
  if (tokens.length === 0) throw expressionError("It is empty.");
  return parseTokens(tokens, filterCount);
}

/** Answers whether the expression holds; `holds` tells of one filter and is asked only as far as needed. */
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

function expressionError(detail: string): Error {
  return invalidValue("logicalExpression", detail);
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(\d+|[A-Za-z]+|[()]|\S)/gy;
  for (const match of text.matchAll(pattern)) {
    const token = match[1] as string;
    const at = match.index + match[0].length - token.length + 1;
    if (!/^(\d+|AND|OR|NOT|[()])$/i.test(token))
      throw expressionError(`Nothing can be made of "${token}" at position ${at}.`);
    tokens.push({ text: token.toUpperCase(), at });
  }
  return tokens;
}

/** Recursive descent, one function per rank of precedence. */
function parseTokens(tokens: readonly Token[], filterCount: number): LogicalExpression {
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
    if (depth >= MAX_DEPTH) throw expressionError(`It is nested deeper than ${MAX_DEPTH} levels.`);
    const token = tokens[next];
    if (!token) throw expressionError("A filter number, NOT or ( is expected at the end.");
    next++;
    if (token.text === "NOT") return { kind: "not", of: single(depth + 1) };
    if (token.text === "(") return group(token, depth);
    return { kind: "filter", number: filterNumber(token, filterCount) };
  };

  const group = (opened: Token, depth: number): LogicalExpression => {
    const inner = either(depth + 1);
    const token = tokens[next];
    if (!token) throw expressionError(`The ( at position ${opened.at} is never closed.`);
    if (token.text !== ")")
      throw expressionError(`AND, OR or ) is expected at position ${token.at}, not "${token.text}".`);
    next++;
    return inner;
  };

  const expression = either(0);
  const rest = tokens[next];
  if (rest?.text === ")") throw expressionError(`The ) at position ${rest.at} closes nothing.`);
  if (rest) throw expressionError(`AND or OR is expected at position ${rest.at}, not "${rest.text}".`);
  return expression;
}

function filterNumber(token: Token, filterCount: number): number {
  if (!/^\d+$/.test(token.text)) {
    throw expressionError(`A filter number, NOT or ( is expected at position ${token.at}, not "${token.text}".`);
  }
  const number = Number(token.text);
  if (number >= 1 && number <= filterCount) return number;
  const range = filterCount === 0 ? "There are no filters" : `There are filters 1 to ${filterCount}`;
  throw expressionError(`${range}, not ${token.text} (position ${token.at}).`);
}
