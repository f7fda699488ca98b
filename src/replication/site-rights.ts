import type { Edit } from "./merge.ts";
import type { Body } from "./work.ts";

/** What belongs to users and is changed where they are. @source replication.md, amendments, class A */
export const AT_ONCE_ROWS: ReadonlySet<string> = new Set(["user-tokens", "user-devices"]);

/** Fields of users that act at once where somebody must be kept out, or let in. @source replication.md, amendments, class A */
export const AT_ONCE_FIELDS: ReadonlySet<string> = new Set([
  ...["lock", "passwordHash", "passwordChangedAt", "passwordResetRequired", "providerKey", "updatedAt"],
]);

/** People whom an appliance's loads and campaigns bring, with no rights of their own. own choice */
const BROUGHT: ReadonlySet<unknown> = new Set(["user-loader", "sis-loader", "self-registered"]);

/**
 * Whether an edit of users and rights is one that an appliance makes by itself; `current` is the row as it stands. Of
 * anything else of class A it asks the cloud.
 */
export function isOfSite(type: string, current: Body | null, { op, set, add, remove }: Edit): boolean {
  if (AT_ONCE_ROWS.has(type)) return true;
  if (type !== "users") return false;
  if (BROUGHT.has(current?.source) || (!current && op === "create" && BROUGHT.has(set.source))) return true;
  const fields = [set, add, remove].flatMap((part) => Object.keys(part));
  return op === "update" && fields.every((name) => AT_ONCE_FIELDS.has(name));
}
