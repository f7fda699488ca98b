import { type FieldError, invalidValue, validationError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { ADDITIONAL_RECIPIENT_FIELDS } from "../resources/scenarios/scenario-fields.ts";
import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import type { ActorContext, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import { type RecipientIds, SCENARIO_RECIPIENT_FIELDS } from "./scenario-plan.ts";

/** Additional recipients, as stored with a start. */
export type AdditionalRecipients = Partial<RecipientIds> & { messageId: string };

const checker = compileValidator(ADDITIONAL_RECIPIENT_FIELDS);
const FIELD = "messages";

/**
 * Parses `[{messageId, distributionListIds, userIds, …}]`. Throws CallerError for a message that is not in `messageIds`, a
 * duplicate message, and recipients that `by` may not read.
 */
export function parseAdditionalRecipients(
  input: unknown,
  messageIds: readonly string[],
  by: ActorContext,
  { reader, familyOf }: { reader: StoreReader; familyOf(field: string): AnyResource },
): AdditionalRecipients[] {
  const given = input ?? [];
  if (!Array.isArray(given)) throw invalidValue(FIELD, sentence("field.must-be-a-list"));
  const read: AdditionalRecipients[] = [];
  for (const [at, element] of given.entries()) {
    const place = `${FIELD}[${at}]`;
    if (typeof element !== "object" || element === null) throw invalidValue(place, sentence("field.must-be-an-object"));
    const messageId = normalizeId((element as Record<string, unknown>).messageId);
    if (!messageIds.includes(messageId) || read.some((other) => other.messageId === messageId)) {
      throw invalidValue(
        `${place}.messageId`,
        sentence("field.must-be-the-id-of-a-message-of-the-scenario-given-at-most-once"),
      );
    }
    const { values, faults } = checker.validate(element as Record<string, unknown>, "create");
    if (faults.length > 0)
      throw validationError(faults.map((fault) => ({ ...fault, field: `${place}.${fault.field}` })));
    assertVisible(values as RecipientIds, place, by, reader, familyOf);
    read.push({ messageId, ...(values as RecipientIds) });
  }
  return read;
}

function normalizeId(value: unknown): string {
  return isUuid(value) ? value.toLowerCase() : "";
}

function assertVisible(
  recipients: RecipientIds,
  place: string,
  by: ActorContext,
  reader: StoreReader,
  familyOf: (field: string) => AnyResource,
): void {
  const faults = SCENARIO_RECIPIENT_FIELDS.flatMap((field): FieldError[] => {
    const ids = recipients[field];
    const resource = familyOf(field);
    const seen = buildVisibilitySql(by.scope.visible(resource));
    const sql = `SELECT count(*) AS n FROM ${tableName(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND ${seen.sql}`;
    const found = ids.length === 0 ? 0 : (reader.one<{ n: number }>(sql, JSON.stringify(ids), ...seen.params)?.n ?? 0);
    if (found === ids.length) return [];
    const at = `${place}.${field}`;
    return [
      {
        field: at,
        type: "invalid-value",
        message: `Field ${at} is not valid. ${sentence("field.at-least-one-of-the-ids-was-not-found")}`,
      },
    ];
  });
  if (faults.length > 0) throw validationError(faults);
}
