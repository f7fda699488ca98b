import { invalidValue } from "../../lib/errors.ts";

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
  if (typeof input !== "object" || Array.isArray(input)) throw invalidValue("customVars", "Must be an object.");
  for (const [name, value] of Object.entries(input)) {
    if (value === null) continue;
    if (typeof value === "object")
      throw invalidValue("customVars", `The value of ${name} must be a string, number or boolean.`);
    variables.set(name.trim(), String(value));
  }
  return variables;
}

/**
 * Replaces `{{name}}` placeholders (spaces around the name are ignored); values are not interpolated again. A
 * placeholder without a value stays as it is: a warning with a gap is better than none.
 */
export function interpolate(text: string, variables: Variables): string {
  if (variables.size === 0) return text;
  return text.replace(PLACEHOLDER, (place, name: string) => variables.get(name.trim()) ?? place);
}
