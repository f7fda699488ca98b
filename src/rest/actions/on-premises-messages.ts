import { RECIPIENT_TYPES, sortRecipients } from "../../broadcast/typed-recipients.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import { json } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { requireSending } from "./notifications.ts";

/** Sends a message by its own path, as older clients of appliances do. @source decisions.md 13 */
export const onPremisesMessageActions: readonly Action[] = [
  {
    method: "post",
    at: "onprem/v1/messages/{messageTemplateId}",
    outsideVersion: true,
    doc: "Sends the message, to these recipients or, without any, to its own; whoever may post notifications may.",
    answers: { kind: "row", resource: notifications },
    accepts: {
      recipients: json(`List of \`{id, type}\`, where type is one of ${RECIPIENT_TYPES.join(", ")}.`, {
        maxBytes: 1_048_576,
      }),
      drill: notifications.fields.drill,
    },
    permission: "anyone",
    async handle(request) {
      const { needs, body, by, params } = request;
      requireSending(by.scope, body.drill);
      const template = visibleRow(request, messageTemplates, params.messageTemplateId ?? "");
      const { recipients, drill } = body;
      const sorted = recipients === undefined || recipients === null ? {} : sortRecipients(recipients);
      const given = { ...sorted, messageTemplateId: template.id, ...(drill === undefined ? {} : { drill }) };
      return request.show(notifications, await needs.broadcaster.send(given, by, { source: "api" }));
    },
  },
];
