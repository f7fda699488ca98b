import { OwnedElsewhere } from "../../base/errors.ts";
import type { By, Written } from "../../store/store.ts";
import { AT_ONCE_FIELDS, AT_ONCE_ROWS } from "../site-rights.ts";

/**
 * Users and rights of a linked appliance belong to the cloud; locks, passwords and tokens act here at once and go up. What
 * the appliance itself writes, such as where somebody is, is no change of rights.
 * Throws OwnedElsewhere for a caller's change of anything else: where there is a link, the cloud is asked to do it.
 */
export function requireAllowedHere({ resource, before, after }: Written, by: By): void {
  if (by.actor.kind !== "user" || AT_ONCE_ROWS.has(resource.name)) return;
  if (isAtOnce({ resource, before, after })) return;
  const message = `Only the cloud changes ${resource.name}, and it can't be reached now. Locks, passwords and tokens can be changed here.`;
  throw new OwnedElsewhere(message, { resource: resource.name });
}

/** Whether somebody is locked, let in or given another password, and nothing else. */
export function isAtOnce({ resource, before, after }: Pick<Written, "resource" | "before" | "after">): boolean {
  return resource.name === "users" && before !== null && after !== null && changes(before, after, AT_ONCE_FIELDS);
}

type Row = Readonly<Record<string, unknown>>;

/** Whether two versions differ in nothing but these fields. */
function changes(before: Row, after: Row, allowed: ReadonlySet<string>): boolean {
  return Object.keys(after).every(
    (name) => allowed.has(name) || JSON.stringify(after[name]) === JSON.stringify(before[name]),
  );
}
