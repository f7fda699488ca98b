import { isAccountLocked } from "../../auth/account-lock.ts";
import { derivedId } from "../../lib/ids.ts";
import notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import users from "../../resources/people/users.ts";
import { boolean, list, option, uuid } from "../../schema/field.ts";
import type { FieldFilter, StoreReader } from "../../store/store.ts";
import type { Query } from "../query/query.ts";
import { flagParameter, idsParameter, PERIOD_QUERY, periodFilters } from "./parameters.ts";
import { isoText, type ReportDefinition, type ReportDeps, type ReportSource, reportSource } from "./report.ts";

const ID = uuid("An id.");
const USER_TYPES = users.fields.type.values;

/** Recipients with read status and answers. */
export const recipientReport: ReportDefinition = {
  id: derivedId("reports", "notification-recipients"),
  name: "Recipients of notifications",
  description: "Recipients of notifications, with opt-outs, read status and answers.",
  columns: [
    "notificationId",
    "subject",
    "sentAt",
    "name",
    "email",
    "type",
    "read",
    "readAt",
    "answer",
    "answeredAt",
    "declined",
  ],
  query: {
    notificationId: uuid("Only this notification."),
    messageTemplateId: uuid("Only notifications of this template."),
    userId: uuid("Only this user."),
    ...PERIOD_QUERY,
  },
  sources(query, { store, clock }) {
    const shared: FieldFilter[] = periodFilters(query, clock);
    const [userId] = idsParameter(query, "userId") ?? [];
    if (userId) shared.push({ field: "userId", op: "eq", value: userId });
    const ids = idsParameter(query, "notificationId");
    const templates = idsParameter(query, "messageTemplateId");
    const selected = templates
      ? notificationsFromTemplates(store, templates).filter((id) => !ids || ids.includes(id))
      : ids;
    const lines = (rows: readonly RecipientRow[]) => recipientLines(store, rows);
    const one = (filters: FieldFilter[]): ReportSource =>
      reportSource({ resource: notificationRecipients, restriction: { filters }, lines });
    if (selected === null) return [one(shared)];
    return selected.map((id) => one([...shared, { field: "notificationId", op: "eq", value: id }]));
  },
};

type RecipientRow = Parameters<ReportSource<typeof notificationRecipients>["lines"]>[0][number];

function notificationsFromTemplates(reader: StoreReader, templates: readonly string[]): string[] {
  const found = reader.all<{ id: string }>(
    `SELECT n.id FROM notifications n JOIN message_templates t ON t.pk = n.message_template_pk
     WHERE t.id IN (SELECT value FROM json_each(?)) AND n.draft = 0 ORDER BY n.created_at`,
    JSON.stringify(templates),
  );
  return found.map(({ id }) => id);
}

function recipientLines(reader: StoreReader, rows: readonly RecipientRow[]) {
  const found = reader.all<{ id: string; subject: string; at: number }>(
    "SELECT id, subject, created_at AS at FROM notifications WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ notificationId }) => notificationId))]),
  );
  const messages = new Map(found.map((message) => [message.id, message]));
  return rows.map((row) => {
    const { notificationId, name, email, type, read, declined } = row;
    const message = messages.get(notificationId);
    const answered = [row.confirmationResponse, isoText(row.confirmationResponseTimestamp)];
    const what = [notificationId, message?.subject ?? null, isoText(message?.at ?? null)];
    return [...what, name, email, type, read, isoText(row.readTimestamp), ...answered, declined];
  });
}

/** User accounts. */
export const userReport: ReportDefinition = {
  id: derivedId("reports", "users"),
  name: "Users",
  description: "Accounts with their state.",
  columns: ["id", "name", "email", "type", "isLocked", "passwordResetRequired", "selfRegistered", "createdAt"],
  query: {
    domainId: uuid("Only users of this domain."),
    distributionListId: uuid("Only users of this distribution list."),
    securityGroupId: uuid("Only users of this security group."),
    distributionListIds: list("Only users of one of these distribution lists.", ID),
    securityGroupIds: list("Only users of one of these security groups.", ID),
    userTypes: list("Only users of one of these types.", option("A type.", USER_TYPES)),
    isLocked: boolean("Only locked (true) or unlocked (false) users."),
    passwordResetRequired: boolean("Only users who must (true) or need not (false) set a new password."),
  },
  sources(query, deps) {
    const restrictions = membershipFilters(query);
    const filters = userFilters(query);
    const lines = userLines(query, deps);
    return restrictions.map((through) =>
      reportSource({ resource: users, restriction: { filters, ...(through ? { through } : {}) }, lines }),
    );
  },
};

type UserRow = Parameters<ReportSource<typeof users>["lines"]>[0][number];
type Through = NonNullable<ReportSource["restriction"]["through"]>;

/** On one of the lists or in one of the groups, where both are given. */
function membershipFilters(query: Query): (Through | null)[] {
  const lists = idsParameter(query, "distributionListId") ?? [];
  const groups = idsParameter(query, "securityGroupId") ?? [];
  const all: Through[] = [
    ...lists.map((id) => ({ resource: "subscriptions", via: "userId", within: { distributionListId: id } })),
    ...groups.map((id) => ({ resource: "security-group-members", via: "userId", within: { securityGroupId: id } })),
  ];
  return all.length === 0 ? [null] : all;
}

function userFilters(query: Query): FieldFilter[] {
  const filters: FieldFilter[] = [];
  const types = query.userTypes === undefined ? [] : [query.userTypes].flat();
  if (types.length > 0) filters.push({ field: "type", op: "in", value: types.map(String) });
  const reset = flagParameter(query, "passwordResetRequired");
  const [domainId] = idsParameter(query, "domainId") ?? [];
  if (domainId) filters.push({ field: "domainId", op: "eq", value: domainId });
  if (reset !== null) filters.push({ field: "passwordResetRequired", op: "eq", value: reset });
  return filters;
}

function userLines(query: Query, { clock }: ReportDeps): (rows: readonly UserRow[]) => (string | boolean | null)[][] {
  const selected = flagParameter(query, "isLocked");
  return (rows) =>
    rows.flatMap(({ id, name, email, type, lock, passwordResetRequired, selfRegistered, createdAt }) => {
      const locked = isAccountLocked(lock, clock.now());
      if (selected !== null && selected !== locked) return [];
      return [[id, name, email, type, locked, passwordResetRequired, selfRegistered, isoText(createdAt)]];
    });
}
