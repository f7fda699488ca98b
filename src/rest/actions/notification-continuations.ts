import notifications from "../../resources/broadcasts/notifications.ts";
import { text } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";
import { requireSending } from "./notifications.ts";

const WORDS = {
  subject: text("First line of the all-clear. own choice: names what is over when not given.", { max: 255 }),
  body: text("The all-clear itself.", { max: 10_000 }),
};
const checkWords = bodyCheck(WORDS);

/**
 * What is sent after a message: the same again to whom it missed, or the all-clear. Whoever may send such a message may
 * send these too. @source decisions.md 8; own choice: the path and the body of the all-clear
 */
export const notificationContinuationActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications/{notificationId}/retry",
    doc: "Sends it again to whom it was not proven to reach.",
    answers: { kind: "row", resource: notifications },
    permission: "anyone",
    async handle(request) {
      const { needs, by } = request;
      const row = visibleRow(request, notifications, request.params.notificationId ?? "");
      requireSending(by.scope, row.drill);
      return request.show(notifications, await needs.broadcaster.retry(row.id, by));
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/all-clear",
    doc: "Sends the all-clear to whom it went to.",
    answers: { kind: "row", resource: notifications },
    accepts: WORDS,
    permission: "anyone",
    async handle(request) {
      const { needs, by, body } = request;
      const row = visibleRow(request, notifications, request.params.notificationId ?? "");
      requireSending(by.scope, row.drill);
      const sent = await needs.broadcaster.sendAllClear(row.id, checkWords(body), by, { source: "api" });
      return request.show(notifications, sent);
    },
  },
];
