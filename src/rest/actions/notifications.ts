import { forbidden, invalidValue } from "../../base/errors.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import type { Scope } from "../../store/store.ts";
import type { Action } from "../action.ts";
import { requestShaOf } from "./request-sha.ts";

/** own choice: 1 to 255 visible ASCII characters. @source draft-ietf-httpapi-idempotency-key-header */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Making a notification sends it; a `draft` only says whom and what it would reach. @source service-api.md; decisions.md 8 */
export const notificationActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications",
    doc: "Makes a notification, which sends it; a draft only says whom and what it would reach.",
    headers: ["Idempotency-Key"],
    answers: { kind: "row", resource: notifications },
    accepts: notifications.fields,
    permission: "anyone",
    async handle(request) {
      const { needs, body, by } = request;
      requireSending(by.scope, body.drill);
      const row = await needs.broadcaster.send({ ...body }, by, {
        idempotencyKey: idempotencyKeyOf(request.header("idempotency-key")),
        requestSha: requestShaOf(body),
        source: "api",
      });
      return request.show(notifications, row);
    },
  },
];

/** Who may only drill has the permission to post `/drill-notifications`. @source interfaces.md, Who sees and may do what */
export function requireSending(scope: Scope, drill: unknown): void {
  if (scope.allows("post", "/notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}

/** The caller's key for one send, null without one. Throws CallerError for one that is none. */
export function idempotencyKeyOf(header: string | null): string | null {
  if (header !== null && !IDEMPOTENCY_KEY.test(header)) throw invalidValue("idempotency-key");
  return header;
}
