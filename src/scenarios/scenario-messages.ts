import { faulty, invalidValue } from "../base/errors.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import siteRoles from "../resources/places/site-roles.ts";
import { SCENARIO_MESSAGE } from "../resources/scenarios/scenario-parts.ts";
import { tableOf } from "../schema/catalogue.ts";
import { compileChecker } from "../schema/check.ts";
import { readParts } from "../schema/part-lists.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { By, Reader } from "../store/store.ts";
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

/** The ids that messages refer to, each once. */
export function referencesOf(messages: readonly ScenarioMessage[]): MessageReferences {
  return {
    messageTemplateIds: [...new Set(messages.map(({ messageTemplateId }) => messageTemplateId))],
    confirmationRequestIds: [...new Set(messages.flatMap(({ confirmationRequestId }) => confirmationRequestId ?? []))],
    siteRoleIds: [...new Set(messages.flatMap((message) => message.siteRoleIds))],
  };
}

/** Throws CallerError for what messages refer to and `by` does not see, unless the scenario referred to it `before`. */
export function requireReferences(
  messages: readonly ScenarioMessage[],
  before: MessageReferences | null,
  reader: Reader,
  by: By,
): void {
  const faults = messages.flatMap((message, at) => {
    const wrong = (member: string, resource: AnyResource, id: string, known: readonly string[] | undefined) => {
      if (known?.includes(id) || reader.get(resource, id, by.scope)) return [];
      const field = `${FIELD}[${at}].${member}`;
      const text = `Field ${field} is not valid. There is none with the id ${id}.`;
      return [{ field, type: "invalid-value" as const, message: text }];
    };
    const { messageTemplateId, confirmationRequestId, siteRoleIds } = message;
    return [
      ...wrong("messageTemplateId", messageTemplates, messageTemplateId, before?.messageTemplateIds),
      ...(confirmationRequestId === null
        ? []
        : wrong("confirmationRequestId", confirmationRequests, confirmationRequestId, before?.confirmationRequestIds)),
      ...siteRoleIds.flatMap((id) => wrong("siteRoleIds", siteRoles, id, before?.siteRoleIds)),
    ];
  });
  if (faults.length > 0) throw faulty(faults);
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
  const templates = named(
    reader,
    messageTemplates,
    rows.flatMap(({ messageTemplateIds }) => messageTemplateIds),
  );
  const roles = named(
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

function named(reader: Reader, resource: AnyResource, ids: readonly string[]) {
  const lines = reader.all<{ id: string; name: string }>(
    `SELECT id, name FROM ${tableOf(resource)} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(lines.map((line) => [line.id, line]));
}
