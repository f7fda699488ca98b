import notifications from "../../resources/broadcasts/notifications.ts";
import { boolean, option, text } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";
import { requireSending } from "./notifications.ts";

const WORDS = {
  subject: text("First line of the all-clear. own choice: names what is over when not given.", { max: 255 }),
  body: text("The all-clear itself.", { max: 10_000 }),
  again: boolean("Send it also where it has been sent already, which is refused otherwise. own choice."),
};
const checkWords = bodyCheck(WORDS);
const DECISION = {
  decision: option("Whether it goes out; whoever sends it may refuse, which takes it back.", ["approve", "refuse"], {
    required: true,
  }),
};
const checkDecision = bodyCheck(DECISION);

/**
 * What is sent after a message: the same again to whom it missed, or the all-clear; and, where the appliance asks for a second
 * person, whether it is sent at all. Whoever may send such a message may
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
      const { again, ...words } = checkWords(body);
      const sent = await needs.broadcaster.sendAllClear(row.id, words, by, { source: "api", again: again === true });
      return request.show(notifications, sent);
    },
  },
  {
    method: "post",
    at: "notifications/{notificationId}/approval",
    doc: "Lets a message go out that waits for another person than its sender, or refuses it; messages of one scenario together. own choice.",
    answers: { kind: "row", resource: notifications },
    accepts: DECISION,
    permission: "anyone",
    async handle(request) {
      const { needs, by, body } = request;
      const row = visibleRow(request, notifications, request.params.notificationId ?? "");
      requireSending(by.scope, row.drill);
      const decision = checkDecision(body).decision === "approve" ? "approve" : "refuse";
      return request.show(notifications, await needs.broadcaster.decide(row.id, decision, by));
    },
  },
];
