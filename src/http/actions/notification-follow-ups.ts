import notifications from "../../resources/notifications/notifications.ts";
import { boolean, option, text } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { assertMaySend } from "./notifications.ts";

const ALL_CLEAR_INPUT = {
  subject: text("Subject of the all-clear; default: a text that names the message that is over.", { max: 255 }),
  body: text("Body of the all-clear.", { max: 10_000 }),
  again: boolean("Sends it even if an all-clear was already sent; otherwise refused."),
};
const validateAllClear = compileBodyValidator(ALL_CLEAR_INPUT);
const APPROVAL_INPUT = {
  decision: option("Decision. The sender may refuse to withdraw the message.", ["approve", "refuse"], {
    required: true,
  }),
};
const validateApproval = compileBodyValidator(APPROVAL_INPUT);

/**
 * Follow-ups of a notification: retry, all-clear and two-person approval. Users who may send the notification may
 * also send these.
 * @source docs/decisions/0008-notifications-and-templates.md
 */
export const notificationFollowUpActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications/{notificationId}/retry",
    doc: "Sends the notification again to recipients that were not verifiably reached.",
    response: { kind: "row", resource: notifications },
    permission: "anyone",
    async handle(request) {
      const { deps, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      return request.respondWithRow(notifications, await deps.notificationService.retry(row.id, by));
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/all-clear",
    doc: "Sends the all-clear to the recipients of the notification.",
    response: { kind: "row", resource: notifications },
    accepts: ALL_CLEAR_INPUT,
    permission: "anyone",
    async handle(request) {
      const { deps, by, body } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      const { again, ...content } = validateAllClear(body);
      const sent = await deps.notificationService.sendAllClear(row.id, content, by, {
        source: "api",
        again: again === true,
      });
      return request.respondWithRow(notifications, sent);
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/approval",
    doc: "Approves or refuses a message that waits for two-person approval. Messages of one scenario are decided together.",
    response: { kind: "row", resource: notifications },
    accepts: APPROVAL_INPUT,
    permission: "anyone",
    async handle(request) {
      const { deps, by, body } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      const decision = validateApproval(body).decision === "approve" ? "approve" : "refuse";
      return request.respondWithRow(notifications, await deps.notificationService.decideApproval(row.id, decision, by));
    },
  },
];
