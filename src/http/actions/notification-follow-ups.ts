import notifications from "../../resources/notifications/notifications.ts";
import { boolean, option, text } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { assertMaySend } from "./notifications.ts";

const ALL_CLEAR_INPUT = {
  subject: text("First line of the all-clear. own choice: names what is over when not given.", { max: 255 }),
  body: text("The all-clear itself.", { max: 10_000 }),
  again: boolean("Send it also where it has been sent already, which is refused otherwise. own choice."),
};
const validateAllClear = compileBodyValidator(ALL_CLEAR_INPUT);
const APPROVAL_INPUT = {
  decision: option("Whether it goes out; whoever sends it may refuse, which takes it back.", ["approve", "refuse"], {
    required: true,
  }),
};
const validateApproval = compileBodyValidator(APPROVAL_INPUT);

/**
 * What is sent after a message: the same again to whom it missed, or the all-clear; and, where the appliance asks for a second
 * person, whether it is sent at all. Whoever may send such a message may
 * send these too. @source decisions.md 8; own choice: the path and the body of the all-clear
 */
export const notificationFollowUpActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications/{notificationId}/retry",
    doc: "Sends it again to whom it was not proven to reach.",
    response: { kind: "row", resource: notifications },
    permission: "anyone",
    async handle(request) {
      const { needs, by } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      return request.respondWithRow(notifications, await needs.notificationService.retry(row.id, by));
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/all-clear",
    doc: "Sends the all-clear to whom it went to.",
    response: { kind: "row", resource: notifications },
    accepts: ALL_CLEAR_INPUT,
    permission: "anyone",
    async handle(request) {
      const { needs, by, body } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      const { again, ...words } = validateAllClear(body);
      const sent = await needs.notificationService.sendAllClear(row.id, words, by, {
        source: "api",
        again: again === true,
      });
      return request.respondWithRow(notifications, sent);
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/approval",
    doc: "Lets a message go out that waits for another person than its sender, or refuses it; messages of one scenario together. own choice.",
    response: { kind: "row", resource: notifications },
    accepts: APPROVAL_INPUT,
    permission: "anyone",
    async handle(request) {
      const { needs, by, body } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      assertMaySend(by.scope, row.drill);
      const decision = validateApproval(body).decision === "approve" ? "approve" : "refuse";
      return request.respondWithRow(
        notifications,
        await needs.notificationService.decideApproval(row.id, decision, by),
      );
    },
  },
];
