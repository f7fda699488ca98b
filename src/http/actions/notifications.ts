import { forbidden } from "../../lib/errors.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { SEND_WARNING_CODES } from "../../resources/notifications/reach-warnings.ts";
import { computed, option, text } from "../../schema/field.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { AccessScope } from "../../store/store.ts";
import type { Action } from "../action.ts";
import { IGNORED_INPUT_CODES } from "../openapi/warnings.ts";
import { addMembers } from "./add-members.ts";

const WARNINGS = computed(
  "Why the notification would reach no device and no person, which variables have no value, and what the request contained without effect. It is sent all the same.",
  "array",
  {
    of: {
      code: option("Type of the reason.", [...SEND_WARNING_CODES, ...IGNORED_INPUT_CODES], { required: true }),
      parameter: computed("Name of the query parameter or body field without effect.", "text", { sometimes: true }),
      message: text("The reason.", { required: true, max: 1_000 }),
    },
  },
);

/**
 * Creating a notification sends it; a `draft` is only a preview.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md
 */
export const notificationActions: readonly Action[] = [
  {
    method: "post",
    at: "notifications",
    doc: "Creates and sends a notification; a draft only returns who and what it would reach.",
    response: { kind: "row", resource: notifications, with: { warnings: WARNINGS } },
    accepts: notifications.fields,
    permission: "anyone",
    async handle(request) {
      const { deps, body, by } = request;
      assertMaySend(by.scope, body.drill);
      const source = body.incidentId ? "incident" : "api";
      const row = await deps.notificationService.send({ ...body }, by, { source });
      // Stored and under way: the check delays the response only.
      const warnings = [...(await deps.notificationService.findReachWarnings(row)), ...unfilledWarnings(row)];
      return addMembers(await request.respondWithRow(notifications, row), { warnings });
    },
  },
];

function unfilledWarnings({ unfilledVariables: names }: RowOf<typeof notifications>) {
  if (names === null || names.length === 0) return [];
  const listed = names.slice(0, 5).join(", ");
  const message = `Variables without value were removed from the message: ${listed}${names.length > 5 ? ", …" : ""}.`;
  return [{ code: "unfilled-variables", message }] as const;
}

/**
 * Users who may only send drills have the permission to post `/drill-notifications`.
 * @source docs/decisions/0023-visibility-and-permissions.md
 */
export function assertMaySend(scope: AccessScope, drill: unknown): void {
  if (scope.allows("post", "/notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}
