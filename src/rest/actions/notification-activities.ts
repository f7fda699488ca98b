import { invalidValue, notFound, requiredValue } from "../../base/errors.ts";
import { requireOwn } from "../../broadcast/own-notifications.ts";
import notificationActivities from "../../resources/broadcasts/notification-activities.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import users from "../../resources/people/users.ts";
import { json, option, text } from "../../schema/field.ts";
import { idsUnder } from "../../store/ids-under.ts";
import { type Action, type ApiRequest, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

const ENDING = { type: option("How it ends.", ["expire", "abort"], { required: true }) };
const ANSWERING = {
  type: option("What the recipient did.", ["confirmation", "set-read-status"], { required: true }),
  details: json("Holds confirmationOption or readStatus."),
  confirmationOption: text("The answer, when not in details.", { max: 140 }),
  readStatus: option("The reading, when not in details.", ["read", "unread"]),
};
const checkEnding = bodyCheck(ENDING);
const checkAnswer = bodyCheck(ANSWERING);

/** What clients may add to the diary of a notification. @source decisions.md 8 */
export const notificationActivityActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications/{notificationId}/activities",
    doc: "Ends a notification: its devices are cleared.",
    answers: { kind: "row", resource: notificationActivities },
    accepts: ENDING,
    async handle(request) {
      const { needs, by } = request;
      const { id } = visibleRow(request, notifications, request.params.notificationId ?? "");
      const { type } = checkEnding(request.body);
      const { broadcaster } = needs;
      return request.show(
        notificationActivities,
        await (type === "abort" ? broadcaster.abort(id, by) : broadcaster.expire(id, by)),
      );
    },
  },
  {
    method: "post",
    at: "users/{userId}/notifications/{notificationId}/activities",
    doc: "A recipient's answer, or that it was read.",
    answers: { kind: "row", resource: notificationActivities },
    accepts: ANSWERING,
    async handle(request) {
      const { userId = "", notificationId = "" } = request.params;
      const { store } = request.needs;
      if (!idsUnder(store, users, [userId], request.by.scope.inSight.visible(users)).has(userId)) throw notFound();
      requireOwn(store, userId, notificationId);
      return request.show(notificationActivities, await record(request, userId, notificationId));
    },
  },
];

function record({ needs, by, body }: ApiRequest, userId: string, notificationId: string) {
  const { type, details, ...direct } = checkAnswer(body);
  const given = { ...direct, ...(details as object | null) };
  if (type === "confirmation") {
    return needs.broadcaster.answer(notificationId, userId, textOf(given, "confirmationOption"), by);
  }
  const readStatus = textOf(given, "readStatus");
  if (readStatus !== "read" && readStatus !== "unread") throw invalidValue("readStatus", "It is read or unread.");
  return needs.broadcaster.setRead(notificationId, userId, readStatus === "read", by);
}

function textOf(given: Readonly<Record<string, unknown>>, name: string): string {
  const value = given[name] ?? null;
  if (value === null) throw requiredValue(name);
  if (typeof value !== "string") throw invalidValue(name, "It must be a text.");
  return value;
}
