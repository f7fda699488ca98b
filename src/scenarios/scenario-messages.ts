import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRoles from "../resources/places/site-roles.ts";
import { SCENARIO_MESSAGE_FIELDS } from "../resources/scenarios/scenario-fields.ts";
import { parseNestedItems } from "../schema/nested-items.ts";
import { compileValidator } from "../schema/validator.ts";
import { readNamedRows } from "../store/element-references.ts";
import type { StoreReader } from "../store/store.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

export interface ScenarioMessage {
  id: string;
  name: string;
  messageTemplateId: string;
  subject: string | null;
  body: string | null;
  ttsCustomContent: string | null;
  confirmationRequestId: string | null;
  siteRoleIds: string[];
}

/** References of messages, one list per resource, stored with the scenario. */
export type ScenarioMessageReferences = Pick<
  ScenarioRow,
  "messageTemplateIds" | "confirmationRequestIds" | "siteRoleIds"
>;

/** Members of a message that are references. */
export const SCENARIO_MESSAGE_REFERENCES = {
  messageTemplateId: { resource: messageTemplates, kept: "messageTemplateIds" },
  confirmationRequestId: { resource: confirmationRequests, kept: "confirmationRequestIds" },
  siteRoleIds: { resource: siteRoles, kept: "siteRoleIds" },
} as const;

/** @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
const MAX_MESSAGES = 50;
const FIELD = "messages";
const checker = compileValidator(SCENARIO_MESSAGE_FIELDS);

/** Parses the messages of a scenario, at least one. Throws CallerError. */
export function parseScenarioMessages(input: unknown): ScenarioMessage[] {
  const messages = parseNestedItems<ScenarioMessage>(input, { field: FIELD, most: MAX_MESSAGES, checker });
  if (messages.length === 0) throw invalidValue(FIELD, sentence("field.must-have-at-least-1-item"));
  return messages;
}

/** Stored messages of a scenario, without references to deleted rows. */
export function scenarioMessagesOf(row: Pick<ScenarioRow, "messages"> & ScenarioMessageReferences): ScenarioMessage[] {
  return (row.messages as ScenarioMessage[]).map((message) => ({
    ...message,
    confirmationRequestId: row.confirmationRequestIds.includes(message.confirmationRequestId ?? "")
      ? message.confirmationRequestId
      : null,
    siteRoleIds: message.siteRoleIds.filter((id) => row.siteRoleIds.includes(id)),
  }));
}

/**
 * Messages of a page of scenarios with the names of their references, in two queries. `rows` no longer have the references
 * that the caller may not read, so these are omitted here, too: such a template is null.
 */
export function serializeScenarioMessages(
  rows: readonly ScenarioRow[],
  reader: StoreReader,
): Record<string, unknown>[][] {
  const templates = readNamedRows(
    reader,
    messageTemplates,
    rows.flatMap(({ messageTemplateIds }) => messageTemplateIds),
  );
  const roles = readNamedRows(
    reader,
    siteRoles,
    rows.flatMap(({ siteRoleIds }) => siteRoleIds),
  );
  return rows.map((row) =>
    scenarioMessagesOf(row).map((message) => {
      const seen = row.messageTemplateIds.find((id) => id === message.messageTemplateId) ?? null;
      return {
        ...message,
        messageTemplateId: seen,
        messageTemplate: (seen && templates.get(seen)) ?? null,
        siteRoles: message.siteRoleIds.flatMap((id) => roles.get(id) ?? []),
      };
    }),
  );
}
