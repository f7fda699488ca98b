import { CallerError, forbidden, invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { SEND_WARNING_CODES } from "../../resources/notifications/reach-warnings.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { computed, option, text } from "../../schema/field.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { AccessScope, SearchQuery } from "../../store/store.ts";
import type { Action, ApiRequest } from "../action.ts";
import { IGNORED_INPUT_CODES } from "../openapi/warnings.ts";
import { compileListParameters } from "../query/list-query.ts";
import { addSentences } from "../sentence-members.ts";
import { addMembers } from "./add-members.ts";

const WARNINGS = computed(
  "Why the notification would reach no device and no person, which variables have no value, and what the request contained without effect. It is sent all the same.",
  "array",
  {
    of: {
      code: option("Type of the reason.", [...SEND_WARNING_CODES, ...IGNORED_INPUT_CODES], { required: true }),
      parameter: computed("Name of the query parameter or body field without effect.", "text", { sometimes: true }),
      message: text("The reason.", { required: true, max: 1_000 }),
      messageSentence: sentenceField("The reason", "message"),
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
      const followed = await findFollowedByQuery(request);
      const row = await deps.notificationService.send({ ...body, ...followed }, by, { source });
      // Stored and under way: count and check delay the response only.
      const people = row.draft ? null : await deps.notificationService.countRecipients(row);
      const counts =
        people === null
          ? {}
          : { recipientCount: people, confirmableCount: row.confirmationRequestId === null ? 0 : people };
      const warnings = [...(await deps.notificationService.findReachWarnings(row)), ...unfilledWarnings(row)];
      const added = addSentences({ warnings: WARNINGS }, { ...counts, warnings }, deps.plugins.sentences);
      return addMembers(await request.respondWithRow(notifications, row), added);
    },
  },
];

const parseListParameters = compileListParameters(notifications);

/** The newest notification that `followUpForNotificationQuery` finds. Throws invalid-value. */
async function findFollowedByQuery({ body, deps, by }: ApiRequest): Promise<{ followUpForNotificationId?: string }> {
  const field = "followUpForNotificationQuery";
  const query = body[field];
  if (typeof query !== "string" || query.trim() === "") return {};
  if (body.followUpForNotificationId)
    throw invalidValue(field, sentence("field.must-not-be-combined-with-followupfornotificationid"));
  const { rows } = await deps.store.pageInChunks(notifications, {
    search: searchOf(query, field),
    filters: [{ field: "draft", op: "eq", value: false }],
    sort: "-createdAt",
    limit: 1,
    includeTotal: false,
    scope: by.scope,
  });
  const [found] = rows;
  if (!found) throw invalidValue(field, sentence("field.finds-no-notification-that-was-sent-and-that-the-sender"));
  return { followUpForNotificationId: found.id };
}

function searchOf(q: string, field: string): SearchQuery {
  try {
    return parseListParameters({ q }).search as SearchQuery;
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    throw invalidValue(field, sentence("field.must-be-a-search-as-in-q-of-lists-reason", { reason: error.message }));
  }
}

function unfilledWarnings({ unfilledVariables: names }: RowOf<typeof notifications>) {
  if (names === null || names.length === 0) return [];
  const listed = names.slice(0, 5).join(", ");
  const message = sentence("warning.unfilled-variables", { names: `${listed}${names.length > 5 ? ", …" : ""}` });
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
