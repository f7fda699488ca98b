import { forbidden } from "../../lib/errors.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { AccessScope } from "../../store/store.ts";
import type { Action } from "../action.ts";

/** Making a notification sends it; a `draft` only says whom and what it would reach. @source service-api.md; decisions.md 8 */
export const notificationActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications",
    doc: "Makes a notification, which sends it; a draft only says whom and what it would reach.",
    response: { kind: "row", resource: notifications },
    accepts: notifications.fields,
    permission: "anyone",
    async handle(request) {
      const { needs, body, by } = request;
      assertMaySend(by.scope, body.drill);
      const source = body.incidentId ? "incident" : "api";
      const row = await needs.notificationService.send({ ...body }, by, { source });
      return request.respondWithRow(notifications, row);
    },
  },
];

/** Who may only drill has the permission to post `/drill-notifications`. @source interfaces.md, Who sees and may do what */
export function assertMaySend(scope: AccessScope, drill: unknown): void {
  if (scope.allows("post", "/notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}
