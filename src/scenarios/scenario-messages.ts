import { invalidValue } from "../base/errors.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRoles from "../resources/places/site-roles.ts";
import { SCENARIO_MESSAGE } from "../resources/scenarios/scenario-parts.ts";
import { compileChecker } from "../schema/check.ts";
import { readParts } from "../schema/part-lists.ts";
import { namedRows } from "../store/part-references.ts";
import type { Reader } from "../store/store.ts";
import type { ScenarioRow } from "./questions.ts";

/** A message as it is stored. */
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

/** What messages refer to, one list per family, as the scenario keeps it beside them. */
export type MessageReferences = Pick<ScenarioRow, "messageTemplateIds" | "confirmationRequestIds" | "siteRoleIds">;

/** Members of a message that refer to rows. */
export const MESSAGE_REFERENCES = {
  messageTemplateId: { resource: messageTemplates, kept: "messageTemplateIds" },
  confirmationRequestId: { resource: confirmationRequests, kept: "confirmationRequestIds" },
  siteRoleIds: { resource: siteRoles, kept: "siteRoleIds" },
} as const;

/** own choice */
const MOST_MESSAGES = 50;
const FIELD = "messages";
const checker = compileChecker(SCENARIO_MESSAGE);

/** Reads the messages of a scenario, at least one. Throws CallerError. */
export function readMessages(input: unknown): ScenarioMessage[] {
  const messages = readParts<ScenarioMessage>(input, { field: FIELD, most: MOST_MESSAGES, checker });
  if (messages.length === 0) throw invalidValue(FIELD, "At least 1 element.");
  return messages;
}

/** The stored messages of a scenario, without what has been deleted since. */
export function messagesOf(row: Pick<ScenarioRow, "messages"> & MessageReferences): ScenarioMessage[] {
  return (row.messages as ScenarioMessage[]).map((message) => ({
    ...message,
    confirmationRequestId: row.confirmationRequestIds.includes(message.confirmationRequestId ?? "")
      ? message.confirmationRequestId
      : null,
    siteRoleIds: message.siteRoleIds.filter((id) => row.siteRoleIds.includes(id)),
  }));
}

/**
 * The messages of a page's scenarios with the names of what they refer to; two queries. Of `rows` the references that lie
 * out of sight are gone, so they are not told here either: a template is null then.
 */
export function presentMessages(rows: readonly ScenarioRow[], reader: Reader): Record<string, unknown>[][] {
  const templates = namedRows(
    reader,
    messageTemplates,
    rows.flatMap(({ messageTemplateIds }) => messageTemplateIds),
  );
  const roles = namedRows(
    reader,
    siteRoles,
    rows.flatMap(({ siteRoleIds }) => siteRoleIds),
  );
  return rows.map((row) =>
    messagesOf(row).map((message) => {
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
