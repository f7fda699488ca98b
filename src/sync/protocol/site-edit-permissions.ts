import type { RowBody } from "../storage/transaction-program.ts";
import type { RowEdit } from "./field-merge.ts";

/** What belongs to users and is changed where they are. @source replication.md, amendments, class A */
export const SITE_WRITABLE_RESOURCES: ReadonlySet<string> = new Set(["user-tokens", "user-devices"]);

/** Fields of users that act at once where somebody must be kept out, or let in. @source replication.md, amendments, class A */
export const SITE_WRITABLE_USER_FIELDS: ReadonlySet<string> = new Set([
  ...["lock", "passwordHash", "passwordChangedAt", "passwordResetRequired", "providerKey", "updatedAt"],
]);

/** People whom an appliance's loads and campaigns bring, with no rights of their own. own choice */
const SITE_USER_SOURCES: ReadonlySet<unknown> = new Set(["user-loader", "sis-loader", "self-registered"]);

/**
 * Whether an edit of users and rights is one that an appliance makes by itself; `current` is the row as it stands. Of
 * anything else of class A it asks the cloud.
 */
export function isSiteEditable(type: string, current: RowBody | null, { op, set, add, remove }: RowEdit): boolean {
  if (SITE_WRITABLE_RESOURCES.has(type)) return true;
  if (type !== "users") return false;
  if (SITE_USER_SOURCES.has(current?.source) || (!current && op === "create" && SITE_USER_SOURCES.has(set.source)))
    return true;
  const fields = [set, add, remove].flatMap((part) => Object.keys(part));
  return op === "update" && fields.every((name) => SITE_WRITABLE_USER_FIELDS.has(name));
}
