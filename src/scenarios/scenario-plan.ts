import type { Location } from "../places/location-levels.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRecipients from "../resources/places/site-recipients.ts";
import { ADDITIONAL_RECIPIENT_FIELDS } from "../resources/scenarios/scenario-fields.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { type ScenarioMessage, scenarioMessagesOf } from "./scenario-messages.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** Fields that name recipients. */
export const SCENARIO_RECIPIENT_FIELDS = Object.keys(
  ADDITIONAL_RECIPIENT_FIELDS,
) as (keyof typeof ADDITIONAL_RECIPIENT_FIELDS)[];
/** Recipients by the field that names them. */
export type RecipientIds = Record<(typeof SCENARIO_RECIPIENT_FIELDS)[number], readonly string[]>;

/** One message of a scenario as it would be sent at a place. */
export interface PlannedScenarioMessage {
  message: ScenarioMessage;
  template: RowOf<typeof messageTemplates>;
  /** Those of the template, of the roles at the site, and the further ones, each once. */
  recipients: RecipientIds;
  /** False when nobody would be reached. */
  hasRecipients: boolean;
}

/** More than a site can have, there being one for each role. */
const MAX_RECIPIENTS_PER_SITE = 10_000;

/** What a scenario sends at a place. `further` names more recipients by the message's id. */
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

/** The texts that a message has of its own. */
export function textOverridesOf({ message }: PlannedScenarioMessage): Record<string, string> {
  const { subject, body, ttsCustomContent } = message;
  return Object.fromEntries(
    Object.entries({ subject, body, ttsCustomContent }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
