import { invalidValue } from "./errors.ts";
import { sentence } from "./sentences/sentences.ts";

/** Values for the `{{name}}` placeholders of a message. */
export type Variables = ReadonlyMap<string, string>;

const PLACEHOLDER = /\{\{([^{}]{1,140})\}\}/g;

/**
 * Reads `customVars`: an object of strings, numbers and booleans; null values and null itself are ignored. Throws
 * CallerError.
 */
export function parseVariables(input: unknown): Variables {
  const variables = new Map<string, string>();
  if (input === null || input === undefined) return variables;
  if (typeof input !== "object" || Array.isArray(input))
    throw invalidValue("customVars", sentence("field.must-be-an-object"));
  for (const [name, value] of Object.entries(input)) {
    if (value === null) continue;
    if (typeof value === "object")
      throw invalidValue(
        "customVars",
        sentence("field.the-value-of-name-must-be-a-string-number-or-boolean", { name }),
      );
    variables.set(name.trim(), String(value));
  }
  return variables;
}

/**
 * Replaces `{{name}}` placeholders (spaces around the name are ignored); values are not interpolated again. A
 * placeholder without a value stays as it is.
 */
export function interpolate(text: string, variables: Variables): string {
  if (variables.size === 0) return text;
  return text.replace(PLACEHOLDER, (place, name: string) => variables.get(name.trim()) ?? place);
}

/**
 * Same as `interpolate`, but a placeholder without a value is removed with the space beside it, and its name is added to
 * `unfilled`. @source docs/decisions/0417-unfilled-variables.md
 */
export function interpolateAll(text: string, variables: Variables, unfilled: Set<string>): string {
  let filled = "";
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [place, given = ""] = match;
    const name = given.trim();
    const value = variables.get(name);
    filled += text.slice(end, match.index);
    end = match.index + place.length;
    if (value !== undefined) filled += value;
    else {
      unfilled.add(name);
      const next = text.slice(end, end + 1);
      if (next === " " && /(^|\n)$/.test(filled.slice(-1))) end += 1;
      else if (/^([\s.,;:!?)]|$)/.test(next)) filled = withoutLastSpace(filled);
    }
  }
  return filled + text.slice(end);
}

function withoutLastSpace(text: string): string {
  return text.endsWith(" ") ? text.slice(0, -1) : text;
}
