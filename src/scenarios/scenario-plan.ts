import type { Location } from "../places/location-levels.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRecipients from "../resources/places/site-recipients.ts";
import { ADDITIONAL_RECIPIENT_FIELDS } from "../resources/scenarios/scenario-fields.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { type ScenarioMessage, scenarioMessagesOf } from "./scenario-messages.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** Fields that contain recipients. */
export const SCENARIO_RECIPIENT_FIELDS = Object.keys(
  ADDITIONAL_RECIPIENT_FIELDS,
) as (keyof typeof ADDITIONAL_RECIPIENT_FIELDS)[];
/** Recipients by field. */
export type RecipientIds = Record<(typeof SCENARIO_RECIPIENT_FIELDS)[number], readonly string[]>;

/** A message of a scenario as it would be sent for a location. */
export interface PlannedScenarioMessage {
  message: ScenarioMessage;
  template: RowOf<typeof messageTemplates>;
  /** Recipients of the template, of the roles at the site, and additional ones, without duplicates. */
  recipients: RecipientIds;
  /** False if no one would be reached. */
  hasRecipients: boolean;
}

/** Upper bound: a site has one recipient per role. */
const MAX_RECIPIENTS_PER_SITE = 10_000;

/** Messages that a scenario sends for a location. `further` has additional recipients by message id. */
export function planScenarioMessages(
  row: ScenarioRow,
  place: Location,
  further: ReadonlyMap<string, Partial<RecipientIds>>,
  reader: StoreReader,
): PlannedScenarioMessage[] {
  const { siteId } = place;
  const siteRecipientRows = siteId === null ? [] : reader.find(siteRecipients, { siteId }, MAX_RECIPIENTS_PER_SITE);
  return scenarioMessagesOf(row).flatMap((message) => {
    const template = reader.get(messageTemplates, message.messageTemplateId);
    if (!template) return [];
    const players = siteRecipientRows.filter(({ siteRoleId }) => message.siteRoleIds.includes(siteRoleId));
    const sources: Partial<RecipientIds>[] = [template, ...players, further.get(message.id) ?? {}];
    const recipients = Object.fromEntries(
      SCENARIO_RECIPIENT_FIELDS.map((field) => [field, [...new Set(sources.flatMap((source) => source[field] ?? []))]]),
    ) as unknown as RecipientIds;
    const hasRecipients = SCENARIO_RECIPIENT_FIELDS.some((field) => recipients[field].length > 0);
    return [{ message, template, recipients, hasRecipients }];
  });
}

/** Texts of a message that override the template. */
export function textOverridesOf({ message }: PlannedScenarioMessage): Record<string, string> {
  const { subject, body, ttsCustomContent } = message;
  return Object.fromEntries(
    Object.entries({ subject, body, ttsCustomContent }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
