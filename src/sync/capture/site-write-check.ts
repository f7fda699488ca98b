import { OwnedByCloudError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ActorContext, CapturedWrite, Transaction } from "../../store/store.ts";
import { SITE_WRITABLE_RESOURCES, SITE_WRITABLE_USER_FIELDS } from "../protocol/site-edit-permissions.ts";

/** Whether a user has super rights; the cloud takes changes of such an account from no appliance. */
export type IsSuperUser = (userId: string, tx: Transaction) => boolean;

/**
 * On a linked appliance users and permissions belong to the cloud; tokens are written locally, locks and passwords too and
 * are replicated, except for super users. Writes of the appliance itself, such as a location, are not restricted. Throws
 * OwnedByCloudError for any other change of a caller: with a link it is forwarded to the cloud instead.
 */
export function assertSiteWritable(
  { resource, before, after }: CapturedWrite,
  tx: Transaction,
  by: ActorContext,
  isSuperUser: IsSuperUser,
): void {
  if (by.actor.kind !== "user" || SITE_WRITABLE_RESOURCES.has(resource.name)) return;
  if (isSiteLocalUserChange({ resource, before, after })) {
    if (!isSuperUser(String(after?.id), tx)) return;
    const message = sentence("error.the-lock-and-password-of-a-super-user-must-be-changed-in-the-cloud");
    throw new OwnedByCloudError(message, { resource: resource.name });
  }
  const message = sentence("error.resource-must-be-changed-in-the-cloud-which-cannot-be-reached-now-only-locks", {
    resource: resource.name,
  });
  throw new OwnedByCloudError(message, { resource: resource.name });
}

/** Whether the change only locks or unlocks a user or sets the password. */
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

/** Whether two versions differ in these fields only. */
function changesOnly(before: Row, after: Row, allowed: ReadonlySet<string>): boolean {
  return Object.keys(after).every(
    (name) => allowed.has(name) || JSON.stringify(after[name]) === JSON.stringify(before[name]),
  );
}
