import type { Place } from "../places/levels.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRecipients from "../resources/places/site-recipients.ts";
import { FURTHER_RECIPIENTS } from "../resources/scenarios/scenario-parts.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";
import type { ScenarioRow } from "./questions.ts";
import { messagesOf, type ScenarioMessage } from "./scenario-messages.ts";

/** Fields that name recipients. */
export const RECIPIENTS = Object.keys(FURTHER_RECIPIENTS) as (keyof typeof FURTHER_RECIPIENTS)[];
/** Recipients by the field that names them. */
export type RecipientIds = Record<(typeof RECIPIENTS)[number], readonly string[]>;

/** One message of a scenario as it would be sent at a place. */
export interface PlannedMessage {
  message: ScenarioMessage;
  template: RowOf<typeof messageTemplates>;
  /** Those of the template, of the roles at the site, and the further ones, each once. */
  recipients: RecipientIds;
  /** False when nobody would be reached. */
  hasRecipients: boolean;
}

/** More than a site can have, there being one for each role. */
const MOST_AT_SITE = 10_000;

/** What a scenario sends at a place. `further` names more recipients by the message's id. */
export function planMessages(
  row: ScenarioRow,
  place: Place,
  further: ReadonlyMap<string, Partial<RecipientIds>>,
  reader: Reader,
): PlannedMessage[] {
  const { siteId } = place;
  const atSite = siteId === null ? [] : reader.find(siteRecipients, { siteId }, MOST_AT_SITE);
  return messagesOf(row).flatMap((message) => {
    const template = reader.get(messageTemplates, message.messageTemplateId);
    if (!template) return [];
    const players = atSite.filter(({ siteRoleId }) => message.siteRoleIds.includes(siteRoleId));
    const sources: Partial<RecipientIds>[] = [template, ...players, further.get(message.id) ?? {}];
    const recipients = Object.fromEntries(
      RECIPIENTS.map((field) => [field, [...new Set(sources.flatMap((source) => source[field] ?? []))]]),
    ) as unknown as RecipientIds;
    const hasRecipients = RECIPIENTS.some((field) => recipients[field].length > 0);
    return [{ message, template, recipients, hasRecipients }];
  });
}

/** The texts that a message has of its own. */
export function ownTexts({ message }: PlannedMessage): Record<string, string> {
  const { subject, body, ttsCustomContent } = message;
  return Object.fromEntries(
    Object.entries({ subject, body, ttsCustomContent }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
