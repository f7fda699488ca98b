import { forbidden } from "../../lib/errors.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { AccessScope } from "../../store/store.ts";
import type { Action } from "../action.ts";

/**
 * Creating a notification sends it; a `draft` is only a preview.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md
 */
export const notificationActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications",
    doc: "Creates and sends a notification; a draft only returns who and what it would reach.",
    response: { kind: "row", resource: notifications },
    accepts: notifications.fields,
    permission: "anyone",
    async handle(request) {
      const { deps, body, by } = request;
      assertMaySend(by.scope, body.drill);
      const source = body.incidentId ? "incident" : "api";
      const row = await deps.notificationService.send({ ...body }, by, { source });
      return request.respondWithRow(notifications, row);
    },
  },
];

/**
 * Users who may only send drills have the permission to post `/drill-notifications`.
 * @source docs/decisions/0023-visibility-and-permissions.md
 */
export function assertMaySend(scope: AccessScope, drill: unknown): void {
  if (scope.allows("post", "/notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}
