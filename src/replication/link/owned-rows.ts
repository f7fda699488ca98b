import { OwnedElsewhere } from "../../base/errors.ts";
import type { By, Written } from "../../store/store.ts";

/** What belongs to users and is changed where they are. @source replication.md, amendments, class A */
export const AT_ONCE_ROWS: ReadonlySet<string> = new Set(["user-tokens", "user-devices"]);

/** Fields of users that act at once where somebody must be kept out, or let in. @source replication.md, amendments, class A */
const AT_ONCE: ReadonlySet<string> = new Set([
  ...["lock", "passwordHash", "passwordChangedAt", "passwordResetRequired", "updatedAt"],
]);

/**
 * Users and rights of a linked appliance belong to the cloud; locks, passwords and tokens act here at once and go up. What
 * the appliance itself writes, such as where somebody is, is no change of rights.
 * Throws OwnedElsewhere for a caller's change of anything else: where there is a link, the cloud is asked to do it.
 */
export function requireAllowedHere({ resource, before, after }: Written, by: By): void {
  if (by.actor.kind !== "user" || AT_ONCE_ROWS.has(resource.name)) return;
  const isAtOnce = resource.name === "users" && before !== null && after !== null && changes(before, after, AT_ONCE);
  if (isAtOnce) return;
  const message = `Only the cloud changes ${resource.name}, and it can't be reached now. Locks, passwords and tokens can be changed here.`;
  throw new OwnedElsewhere(message, { resource: resource.name });
}

type Row = Readonly<Record<string, unknown>>;

/** Whether two versions differ in nothing but these fields. */
function changes(before: Row, after: Row, allowed: ReadonlySet<string>): boolean {
  return Object.keys(after).every(
    (name) => allowed.has(name) || JSON.stringify(after[name]) === JSON.stringify(before[name]),
  );
}
