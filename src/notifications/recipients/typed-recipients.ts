import { invalidValue, requiredValue } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** Recipient fields of a notification by the type names of the API. */
const FIELD_OF = {
  user: "userIds",
  "distribution-list": "distributionListIds",
  "device-group": "deviceGroupIds",
  "recipient-group": "deviceGroupIds",
  "area-of-interest": "areaOfInterestIds",
  "collaboration-group": "collaborationGroupIds",
} as const;

type RecipientField = (typeof FIELD_OF)[keyof typeof FIELD_OF];

/** Accepted recipient types: the v1 and the on-premises spelling of each. */
export const RECIPIENT_TYPES = Object.keys(FIELD_OF) as readonly (keyof typeof FIELD_OF)[];

/**
 * Groups `[{id, type}]` into a notification's fields, in the given order; a field without recipients is left out, so
 * that the template's stay. Throws required for an entry without id or type, invalid-value otherwise, naming the entry.
 */
export function groupRecipientsByField(given: unknown): Partial<Record<RecipientField, string[]>> {
  if (!Array.isArray(given)) throw invalidValue("recipients", sentence("field.must-be-a-list-of-id-type"));
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
  if (typeof entry !== "object" || entry === null)
    throw invalidValue(at, sentence("field.must-be-an-object-with-id-and-type"));
  const { id, type } = entry as Record<string, unknown>;
  if (id === undefined) throw requiredValue(`${at}.id`);
  if (type === undefined) throw requiredValue(`${at}.type`);
  if (typeof id !== "string" || !isUuid(id))
    throw invalidValue(`${at}.id`, sentence("field.must-be-the-id-of-a-recipient"));
  // Programs of older servers write RECIPIENT_GROUP.
  const name = typeof type === "string" ? type.toLowerCase().replaceAll("_", "-") : "";
  if (!Object.hasOwn(FIELD_OF, name))
    throw invalidValue(`${at}.type`, sentence("field.must-be-one-of-values", { values: RECIPIENT_TYPES.join(", ") }));
  return { id: id.toLowerCase(), type: name as keyof typeof FIELD_OF };
}
