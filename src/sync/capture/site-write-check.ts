import { OwnedByCloudError } from "../../lib/errors.ts";
import type { ActorContext, CapturedWrite } from "../../store/store.ts";
import { SITE_WRITABLE_RESOURCES, SITE_WRITABLE_USER_FIELDS } from "../protocol/site-edit-permissions.ts";

/**
 * Users and rights of a linked appliance belong to the cloud; locks, passwords and tokens act here at once and go up. What
 * the appliance itself writes, such as where somebody is, is no change of rights.
 * Throws OwnedElsewhere for a caller's change of anything else: where there is a link, the cloud is asked to do it.
 */
export function assertSiteWritable({ resource, before, after }: CapturedWrite, by: ActorContext): void {
  if (by.actor.kind !== "user" || SITE_WRITABLE_RESOURCES.has(resource.name)) return;
  if (isSiteLocalUserChange({ resource, before, after })) return;
  const message = `Only the cloud changes ${resource.name}, and it can't be reached now. Locks, passwords and tokens can be changed here.`;
  throw new OwnedByCloudError(message, { resource: resource.name });
}

/** Whether somebody is locked, let in or given another password, and nothing else. */
export function isSiteLocalUserChange({
  resource,
  before,
  after,
}: Pick<CapturedWrite, "resource" | "before" | "after">): boolean {
  return (
    resource.name === "users" &&
    before !== null &&
    after !== null &&
    changesOnly(before, after, SITE_WRITABLE_USER_FIELDS)
  );
}

type Row = Readonly<Record<string, unknown>>;

/** Whether two versions differ in nothing but these fields. */
function changesOnly(before: Row, after: Row, allowed: ReadonlySet<string>): boolean {
  return Object.keys(after).every(
    (name) => allowed.has(name) || JSON.stringify(after[name]) === JSON.stringify(before[name]),
  );
}
