import { type FieldError, invalidValue, validationError } from "../lib/errors.ts";
import { isUuid, newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { camelCase } from "./decoder.ts";
import type { Validator } from "./validator.ts";

/** An element of a JSON list, with an id that is unique within the list. */
export type NestedItem<T> = T & { id: string };

/**
 * Parses the JSON list `field`: objects with camelCase or kebab-case members, at most `most` of them. Given ids are
 * kept, so that clients can identify elements across changes. Throws CallerError with all invalid members.
 */
export function parseNestedItems<T>(
  input: unknown,
  { field, most, checker }: { field: string; most: number; checker: Validator },
): NestedItem<T>[] {
  if (!Array.isArray(input)) throw invalidValue(field, sentence("field.must-be-a-list"));
  if (input.length > most)
    throw invalidValue(field, sentence("field.must-have-at-most-limit-elements", { limit: most }));
  const faults: FieldError[] = [];
  const ids = new Set<string>();
  const items = input.map((element: unknown, at) => {
    if (typeof element !== "object" || element === null || Array.isArray(element)) {
      throw invalidValue(`${field}[${at}]`, sentence("field.must-be-an-object"));
    }
    const members = Object.fromEntries(Object.entries(element).map(([name, value]) => [camelCase(name), value]));
    const checked = checker.validate(members, "create");
    faults.push(...checked.faults.map((error) => atPath(`${field}[${at}]`, error)));
    const id = isUuid(members.id) && !ids.has(members.id.toLowerCase()) ? members.id.toLowerCase() : newId();
    ids.add(id);
    return { id, ...checked.values } as NestedItem<T>;
  });
  if (faults.length > 0) throw validationError(faults);
  return items;
}

function atPath(place: string, { field, type, message }: FieldError): FieldError {
  return { field: `${place}.${field}`, type, message: message.replace(`Field ${field}`, `Field ${place}.${field}`) };
}
