import { groupRecipientsByField, RECIPIENT_TYPES } from "../../notifications/recipients/typed-recipients.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { json } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { assertMaySend } from "./notifications.ts";

/**
 * Sends a message by its own path, as older clients of appliances do.
 * @source docs/decisions/0013-other-resources.md
 */
export const onPremisesMessageActions: readonly Action[] = [
  {
    method: "post",
    at: "onprem/v1/messages/{messageTemplateId}",
    outsideVersion: true,
    doc: "Sends a message template to the given recipients, or to its own recipients if none are given. Requires the permission to post notifications.",
    response: { kind: "row", resource: notifications },
    accepts: {
      recipients: json(`List of \`{id, type}\`, where type is one of ${RECIPIENT_TYPES.join(", ")}.`, {
        maxBytes: 1_048_576,
      }),
      drill: notifications.fields.drill,
    },
    permission: "anyone",
    async handle(request) {
      const { deps, body, by, params } = request;
      assertMaySend(by.scope, body.drill);
      const template = requireVisibleRow(request, messageTemplates, params.messageTemplateId ?? "");
      const { recipients, drill } = body;
      const sorted = recipients === undefined || recipients === null ? {} : groupRecipientsByField(recipients);
      const given = { ...sorted, messageTemplateId: template.id, ...(drill === undefined ? {} : { drill }) };
      return request.respondWithRow(notifications, await deps.notificationService.send(given, by, { source: "api" }));
    },
  },
];
