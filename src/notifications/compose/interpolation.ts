import { invalidValue } from "../../lib/errors.ts";

/** Values for the `{{name}}` places of a message. */
export type Variables = ReadonlyMap<string, string>;

const PLACEHOLDER = /\{\{([^{}]{1,140})\}\}/g;

/** Reads `customVars`: an object of texts, numbers and booleans; null values and null itself are left out. Throws CallerError. */
export function parseVariables(input: unknown): Variables {
  const variables = new Map<string, string>();
  if (input === null || input === undefined) return variables;
  if (typeof input !== "object" || Array.isArray(input)) throw invalidValue("customVars", "An object is expected.");
  for (const [name, value] of Object.entries(input)) {
    if (value === null) continue;
    if (typeof value === "object") throw invalidValue("customVars", `The value of ${name} is no text.`);
    variables.set(name.trim(), String(value));
  }
  return variables;
}

/**
 * Puts the values into the `{{name}}` places, spaces around a name being ignored; values are not looked into again.
 * own choice: a place without a value stays as it is, since a warning with a gap is better than none.
 */
export function interpolate(text: string, variables: Variables): string {
  if (variables.size === 0) return text;
  return text.replace(PLACEHOLDER, (place, name: string) => variables.get(name.trim()) ?? place);
}
