import type { RowBody } from "../storage/transaction-program.ts";
import type { RowEdit } from "./field-merge.ts";

/**
 * Resources of class A that are written where the request arrives. Tokens made at an appliance stay there; of those made
 * in the cloud it can only end one. @source docs/decisions/0040-replication.md, Section 4;
 * docs/decisions/0491-trust-in-appliances.md
 */
export const SITE_WRITABLE_RESOURCES: ReadonlySet<string> = new Set(["user-tokens", "user-devices"]);

/**
 * Fields of users that an appliance may write, because a lockout must act at once.
 * @source docs/decisions/0040-replication.md, Section 4
 */
export const SITE_WRITABLE_USER_FIELDS: ReadonlySet<string> = new Set([
  ...["lock", "passwordHash", "passwordChangedAt", "passwordResetRequired", "providerKey", "updatedAt"],
]);

/**
 * Users created by an appliance's importers and campaigns; they have no permissions.
 * @source docs/decisions/0300-sync-limits.md
 */
const SITE_USER_SOURCES: ReadonlySet<unknown> = new Set(["user-loader", "sis-loader", "self-registered"]);

/**
 * Whether an appliance may make this edit of users and permissions by itself; `current` is the present row. All other
 * edits of class A are forwarded to the cloud.
 */
export function isSiteEditable(type: string, current: RowBody | null, { op, set, add, remove }: RowEdit): boolean {
  if (type === "user-tokens") return op === "delete";
  if (SITE_WRITABLE_RESOURCES.has(type)) return true;
  if (type !== "users") return false;
  if (SITE_USER_SOURCES.has(current?.source) || (!current && op === "create" && SITE_USER_SOURCES.has(set.source)))
    return true;
  const fields = [set, add, remove].flatMap((part) => Object.keys(part));
  return op === "update" && fields.every((name) => SITE_WRITABLE_USER_FIELDS.has(name));
}
