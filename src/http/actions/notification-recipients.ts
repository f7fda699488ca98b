import areasOfInterest from "../../resources/areas/areas-of-interest.ts";
import notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { boolean, uuid } from "../../schema/field.ts";
import type { FieldFilter } from "../../store/store.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { idListParameter, textParameter } from "../query/query.ts";

const RECIPIENT_QUERY = {
  areaOfInterestId: uuid(
    "Only recipients currently inside this area. An area that the caller may not see is treated as empty.",
  ),
  confirmableOnly: boolean(
    "Only recipients who can answer: those who did not opt out, if the notification has a confirmation request; otherwise none.",
  ),
  includeDefunct: boolean("False omits recipients whose account has since been deleted.", { default: true }),
};

/**
 * Recipients with filters that are not fields of the rows.
 * @source docs/decisions/0042-api-contract.md, `/v1/notifications/{notificationId}/recipients`
 */
export const notificationRecipientActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/recipients",
    doc: "Lists the recipients of a notification.",
    query: RECIPIENT_QUERY,
    response: { kind: "list", resource: notificationRecipients },
    async handle(request) {
      const { params, query } = request;
      const notification = requireVisibleRow(request, notifications, params.notificationId ?? "");
      const filters: FieldFilter[] =
        query.includeDefunct === false ? [{ field: "userId", op: "set", value: true }] : [];
      if (query.confirmableOnly === true) filters.push({ field: "declined", op: "eq", value: false });
      return request.respondWithList(notificationRecipients, {
        within: { notificationId: notification.id },
        filters,
        ...recipientRestriction(request, notification),
      });
    },
  },
];

/** Restricts recipients to those in an area and those who can answer, as requested. */
function recipientRestriction(
  { deps, query, by }: ApiRequest,
  { pk, confirmationRequestId }: { pk: number; confirmationRequestId: string | null },
): { pks?: number[]; pksOf?: string } {
  if (textParameter(query, "confirmableOnly") === "true" && confirmationRequestId === null) {
    return { pks: [], pksOf: "confirmableOnly" };
  }
  const area = idListParameter(query, "areaOfInterestId")?.[0]?.toLowerCase();
  if (area === undefined) return {};
  if (!deps.store.get(areasOfInterest, area, by.scope)) return { pks: [], pksOf: area };
  const found = deps.store.all<{ pk: number }>(
    `SELECT pk FROM notification_recipients
     WHERE notification_pk = ? AND user_pk IN (SELECT user FROM area_presence WHERE area = ?)`,
    ...[pk, area],
  );
  return { pks: found.map((row) => row.pk), pksOf: area };
}
