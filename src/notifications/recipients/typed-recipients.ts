import { invalidValue, requiredValue } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";

/** The fields of a notification that hold recipients, by the kinds that callers name them with. */
const FIELD_OF = {
  user: "userIds",
  "distribution-list": "distributionListIds",
  "device-group": "deviceGroupIds",
  "recipient-group": "deviceGroupIds",
  "area-of-interest": "areaOfInterestIds",
  "collaboration-group": "collaborationGroupIds",
} as const;

type RecipientField = (typeof FIELD_OF)[keyof typeof FIELD_OF];

/** The kinds that a recipient may be of. own choice: names of one of a family, in its v1 and its on-premises spelling */
export const RECIPIENT_TYPES = Object.keys(FIELD_OF) as readonly (keyof typeof FIELD_OF)[];

/**
 * Sorts `[{id, type}]` into a notification's fields, in the order given; a field without recipients is left out, so that
 * the template's stay. Throws required for an entry without id or type, invalid-value for what is none, naming the entry.
 */
export function groupRecipientsByField(given: unknown): Partial<Record<RecipientField, string[]>> {
  if (!Array.isArray(given)) throw invalidValue("recipients", "A list of {id, type} is expected.");
  const sorted: Partial<Record<RecipientField, string[]>> = {};
  for (const [at, entry] of given.entries()) {
    const { id, type } = readEntry(entry, `recipients[${at}]`);
    const field = FIELD_OF[type];
    const ids = sorted[field] ?? [];
    if (!ids.includes(id)) ids.push(id);
    sorted[field] = ids;
  }
  return sorted;
}

function readEntry(entry: unknown, at: string): { id: string; type: keyof typeof FIELD_OF } {
  if (typeof entry !== "object" || entry === null) throw invalidValue(at, "An object with id and type is expected.");
  const { id, type } = entry as Record<string, unknown>;
  if (id === undefined) throw requiredValue(`${at}.id`);
  if (type === undefined) throw requiredValue(`${at}.type`);
  if (typeof id !== "string" || !isUuid(id)) throw invalidValue(`${at}.id`, "It is the id of a recipient.");
  if (typeof type !== "string" || !Object.hasOwn(FIELD_OF, type))
    throw invalidValue(`${at}.type`, `It is one of ${RECIPIENT_TYPES.join(", ")}.`);
  return { id: id.toLowerCase(), type: type as keyof typeof FIELD_OF };
}
