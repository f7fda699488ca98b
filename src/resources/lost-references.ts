import { integer } from "../schema/field.ts";

/**
 * Name of the field that counts the deleted targets of a list (`lostIn`), where an empty list means more than a full one.
 * @source docs/decisions/0547-lost-references.md
 */
export const LOST_REFERENCES = "lostReferences";

/** The counter of deleted targets; `consequence` says what a row does whose lists have lost all of them. */
export function lostReferencesField(consequence: string) {
  return integer(
    `How many of the rows that it named were deleted since they were last set. While it is above 0, empty lists mean that ${consequence}; 0 gives them their meaning again.`,
    { default: 0 },
  );
}
