import { invalidValue, notFound } from "../base/errors.ts";
import securityGroups from "../resources/security/security-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Reader, Store, Sync } from "../store/store.ts";
import { MEMBERSHIPS } from "./memberships.ts";
import { rightsOfUser } from "./rights.ts";

type Group = RowOf<typeof securityGroups>;

/**
 * Copies a group with its permissions into each of the domains, under its own name; all or none. Throws not-found,
 * invalid-value on `domainIds`, and all that giving the permissions throws. @source digest `/v1/security-groups/{securityGroupId}/clone-to-domains`
 */
export async function cloneToDomains(
  store: Store,
  groupId: string,
  domainIds: readonly string[],
  by: By,
): Promise<Group[]> {
  const stranger = domainIds.find((id) => !by.scope.holds(id));
  if (stranger !== undefined) throw invalidValue("domainIds", `There is none with the id ${stranger}.`);
  return store.write((tx) => {
    const group = tx.get(securityGroups, groupId, by.scope);
    if (!group) throw notFound();
    return domainIds.map((domainId) => {
      const { id } = tx.clone(securityGroups, groupId, by);
      return tx.update(securityGroups, id, { name: group.name }, by, { domainId, alsoIn: null });
    }) as Sync<Group[]>;
  });
}

/** What a group may bind its members to. */
export type Bounded = "message-templates" | "scenarios";

const LINKS: Readonly<Record<Bounded, string>> = {
  "message-templates": "security_groups__allowed_message_template_ids",
  scenarios: "security_groups__allowed_scenario_ids",
};

/**
 * Internal keys of the only templates or scenarios that somebody may use; null for all of them. own choice: bound is whoever
 * is in a group that names some, to what such groups name together, unless a super group frees it; the system never is.
 */
export function allowedOnly(reader: Reader, kind: Bounded, { actor }: By): ReadonlySet<number> | null {
  if (actor.kind === "system" || actor.userId === null) return null;
  const user = reader.one<{ pk: number }>("SELECT pk FROM users WHERE id = ?", actor.userId);
  if (!user) return null;
  const named = reader.all<{ target: number }>(
    `SELECT l.target FROM ${MEMBERSHIPS} m JOIN ${LINKS[kind]} l ON l.owner = m.security_group_pk WHERE m.user_pk = ?`,
    user.pk,
  );
  if (named.length === 0 || rightsOfUser(reader, user.pk).superUser) return null;
  return new Set(named.map(({ target }) => target));
}
