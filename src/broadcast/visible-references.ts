import { type Fault, faulty } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import deviceGroups from "../resources/devices/device-groups.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import users from "../resources/people/users.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Reader, Scope } from "../store/store.ts";
import type { GivenMessage } from "./compose.ts";

/** Families that a sender may name in a message. */
const FAMILIES: ReadonlyMap<string, AnyResource> = new Map(
  [confirmationRequests, deviceGroups, distributionLists, messageTemplates, notifications, users].map((resource) => [
    resource.name,
    resource as AnyResource,
  ]),
);

/**
 * Refuses references that the sender gave to rows the sender does not see; those of the template are the template's
 * affair. Throws CallerError naming the fields.
 */
export function requireVisible(reader: Reader, scope: Scope, { values, given }: GivenMessage): void {
  const faults: Fault[] = [];
  for (const [field, spec] of Object.entries(notifications.fields)) {
    if (!given.has(field) || (spec.kind !== "ref" && spec.kind !== "many")) continue;
    const family = FAMILIES.get(spec.to);
    const value = values[field as keyof typeof values] as string | string[] | null;
    const ids = Array.isArray(value) ? value : value === null ? [] : [value];
    if (family && !allVisible(reader, scope, family, ids)) {
      faults.push({ field, type: "invalid-value", message: `Field ${field} is not valid.` });
    }
  }
  if (faults.length > 0) throw faulty(faults);
}

/** One query, however many ids there are. */
function allVisible(reader: Reader, scope: Scope, family: AnyResource, ids: readonly string[]): boolean {
  if (ids.length === 0) return true;
  const visible = scope.visible(family);
  if (visible === "none") return false;
  const [condition, params] = visible === "all" ? ["1", []] : [visible.sql, visible.params];
  const found = reader.one<{ n: number }>(
    `SELECT count(*) AS n FROM ${tableOf(family)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND (${condition})`,
    JSON.stringify(ids),
    ...params,
  );
  return found?.n === ids.length;
}
