import { sentence } from "../../lib/sentences/sentences.ts";
import { RECIPIENT_FIELDS } from "./message-builder.ts";

/** A row that may name recipients itself, which replace all recipients of its template. */
export interface RecipientOwner extends Partial<Record<(typeof RECIPIENT_FIELDS)[number], readonly string[] | null>> {
  /** Recipients that were deleted since they were last set. */
  lostReferences?: number | null;
}

/** Why a message of a row whose recipients were all deleted is not sent. */
export const RECIPIENTS_DELETED = sentence(
  "error.the-recipients-that-were-chosen-here-have-been-deleted-so-it-reaches-no-one",
);

/**
 * The recipients of a message by what its row names: all fields, or none to use those of the template. Null if all that it named
 * were deleted: those of the template would reach others. @source docs/decisions/0547-lost-references.md
 */
export function ownRecipients(row: RecipientOwner): Record<string, readonly string[]> | null {
  if (RECIPIENT_FIELDS.some((field) => row[field]?.length)) {
    return Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, row[field] ?? []]));
  }
  return (row.lostReferences ?? 0) > 0 ? null : {};
}
