import { type Fault, faulty, invalidValue } from "../base/errors.ts";
import { isUuid, newId } from "../base/ids.ts";
import type { Checker } from "./check.ts";
import { camelCase } from "./decode.ts";

/** The elements of a JSON list, each checked and with an id that is its own within the list. */
export type Part<T> = T & { id: string };

/**
 * Reads the JSON list `field`: objects whose members may be in kebab-case, at most `most` of them. An id that is given is
 * kept, so that clients can name the element before and after a change. Throws CallerError naming every faulty member.
 */
export function readParts<T>(
  input: unknown,
  { field, most, checker }: { field: string; most: number; checker: Checker },
): Part<T>[] {
  if (!Array.isArray(input)) throw invalidValue(field, "A list is expected.");
  if (input.length > most) throw invalidValue(field, `At most ${most} elements.`);
  const faults: Fault[] = [];
  const ids = new Set<string>();
  const parts = input.map((element: unknown, at) => {
    if (typeof element !== "object" || element === null || Array.isArray(element)) {
      throw invalidValue(`${field}[${at}]`, "An object is expected.");
    }
    const members = Object.fromEntries(Object.entries(element).map(([name, value]) => [camelCase(name), value]));
    const checked = checker.check(members, "create");
    faults.push(...checked.faults.map((fault) => within(`${field}[${at}]`, fault)));
    const id = isUuid(members.id) && !ids.has(members.id.toLowerCase()) ? members.id.toLowerCase() : newId();
    ids.add(id);
    return { id, ...checked.values } as Part<T>;
  });
  if (faults.length > 0) throw faulty(faults);
  return parts;
}

function within(place: string, { field, type, message }: Fault): Fault {
  return { field: `${place}.${field}`, type, message: message.replace(`Field ${field}`, `Field ${place}.${field}`) };
}
