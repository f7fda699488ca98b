import { type Fault, faulty, invalidValue } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import { FURTHER_RECIPIENTS } from "../resources/scenarios/scenario-parts.ts";
import { tableOf } from "../schema/catalogue.ts";
import { compileChecker } from "../schema/check.ts";
import type { AnyResource } from "../schema/resource.ts";
import { seenSql } from "../store/seen.ts";
import type { By, Reader } from "../store/store.ts";
import { RECIPIENTS, type RecipientIds } from "./scenario-plan.ts";

/** Further recipients as they are kept with a start. */
export type FurtherRecipients = Partial<RecipientIds> & { messageId: string };

const checker = compileChecker(FURTHER_RECIPIENTS);
const FIELD = "messages";

/**
 * Reads `[{messageId, distributionListIds, userIds, …}]`. Throws CallerError for messages that are not in `messageIds`,
 * ones named twice, and recipients that `by` does not see.
 */
export function readFurtherRecipients(
  input: unknown,
  messageIds: readonly string[],
  by: By,
  { reader, familyOf }: { reader: Reader; familyOf(field: string): AnyResource },
): FurtherRecipients[] {
  const given = input ?? [];
  if (!Array.isArray(given)) throw invalidValue(FIELD, "A list is expected.");
  const read: FurtherRecipients[] = [];
  for (const [at, element] of given.entries()) {
    const place = `${FIELD}[${at}]`;
    if (typeof element !== "object" || element === null) throw invalidValue(place, "An object is expected.");
    const messageId = idOf((element as Record<string, unknown>).messageId);
    if (!messageIds.includes(messageId) || read.some((other) => other.messageId === messageId)) {
      throw invalidValue(`${place}.messageId`, "A message of the scenario is named once.");
    }
    const { values, faults } = checker.check(element as Record<string, unknown>, "create");
    if (faults.length > 0) throw faulty(faults.map((fault) => ({ ...fault, field: `${place}.${fault.field}` })));
    requireSeen(values as RecipientIds, place, by, reader, familyOf);
    read.push({ messageId, ...(values as RecipientIds) });
  }
  return read;
}

function idOf(value: unknown): string {
  return isUuid(value) ? value.toLowerCase() : "";
}

function requireSeen(
  recipients: RecipientIds,
  place: string,
  by: By,
  reader: Reader,
  familyOf: (field: string) => AnyResource,
): void {
  const faults = RECIPIENTS.flatMap((field): Fault[] => {
    const ids = recipients[field];
    const resource = familyOf(field);
    const seen = seenSql(by.scope.visible(resource));
    const sql = `SELECT count(*) AS n FROM ${tableOf(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND ${seen.sql}`;
    const found = ids.length === 0 ? 0 : (reader.one<{ n: number }>(sql, JSON.stringify(ids), ...seen.params)?.n ?? 0);
    if (found === ids.length) return [];
    const at = `${place}.${field}`;
    return [
      { field: at, type: "invalid-value", message: `Field ${at} is not valid. There is none with one of the ids.` },
    ];
  });
  if (faults.length > 0) throw faulty(faults);
}
