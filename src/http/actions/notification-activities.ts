import { invalidValue, notFound, requiredValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { requireRecipient } from "../../notifications/recipients/user-notifications.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import notifications from "../../resources/notifications/notifications.ts";
import users from "../../resources/people/users.ts";
import { json, option, text } from "../../schema/field.ts";
import { filterVisibleIds } from "../../store/visible-ids.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const ENDING_INPUT = {
  type: option("How to end the notification.", ["expire", "abort"], { required: true }),
  details: json("Kept with the activity, such as who asked for the end.", { maxBytes: 10_000, fromText: true }),
  comment: text("Reason of the end, kept in the activity's details.", { max: 1_000 }),
};
const RESPONSE_INPUT = {
  type: option("Type of the response.", ["confirmation", "set-read-status"], { required: true }),
  details: json("Contains confirmationOption or readStatus."),
  confirmationOption: text("The answer, if not in details.", { max: 140 }),
  readStatus: option("The read status, if not in details.", ["read", "unread"]),
};
const validateEnding = compileBodyValidator(ENDING_INPUT);
const validateResponse = compileBodyValidator(RESPONSE_INPUT);

/** Activities that clients may add to a notification. @source docs/decisions/0008-notifications-and-templates.md */
export const notificationActivityActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications/{notificationId}/activities",
    doc: "Ends a notification and clears its devices.",
    response: { kind: "row", resource: notificationActivities },
    accepts: ENDING_INPUT,
    async handle(request) {
      const { deps, by } = request;
      const { id } = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      const { type, details, comment } = validateEnding(request.body);
      const given = { ...detailsOf(details), ...(typeof comment === "string" && comment !== "" ? { comment } : {}) };
      const { notificationService } = deps;
      return request.respondWithRow(
        notificationActivities,
        await (type === "abort" ? notificationService.abort(id, by, given) : notificationService.expire(id, by, given)),
      );
    },
  },
  {
    method: "post",
    at: "users/{userId}/notifications/{notificationId}/activities",
    doc: "Records the answer or the read status of a recipient.",
    response: { kind: "row", resource: notificationActivities },
    accepts: RESPONSE_INPUT,
    async handle(request) {
      const { userId = "", notificationId = "" } = request.params;
      const { store } = request.deps;
      if (!filterVisibleIds(store, users, [userId], request.by.scope.domainVisibility.visible(users)).has(userId))
        throw notFound();
      requireRecipient(store, userId, notificationId);
      return request.respondWithRow(notificationActivities, await recordResponse(request, userId, notificationId));
    },
  },
];

function detailsOf(given: unknown): object {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given))
    throw invalidValue("details", sentence("field.must-be-an-object"));
  return given;
}

function recordResponse({ deps, by, body }: ApiRequest, userId: string, notificationId: string) {
  const { type, details, ...direct } = validateResponse(body);
  const given = { ...direct, ...(details as object | null) };
  if (type === "confirmation") {
    return deps.notificationService.recordAnswer(notificationId, userId, textOf(given, "confirmationOption"), by);
  }
  const readStatus = textOf(given, "readStatus");
  if (readStatus !== "read" && readStatus !== "unread")
    throw invalidValue("readStatus", sentence("field.must-be-read-or-unread"));
  return deps.notificationService.setReadStatus(notificationId, userId, readStatus === "read", by);
}

function textOf(given: Readonly<Record<string, unknown>>, name: string): string {
  const value = given[name] ?? null;
  if (value === null) throw requiredValue(name);
  if (typeof value !== "string") throw invalidValue(name, sentence("field.must-be-a-string"));
  return value;
}
