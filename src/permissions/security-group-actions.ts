import { invalidValue, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import securityGroups from "../resources/security/security-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader, Sync } from "../store/store.ts";
import { readUserRights } from "./rights.ts";
import { GROUP_MEMBERSHIPS_SQL } from "./security-group-memberships.ts";

type Group = RowOf<typeof securityGroups>;

/**
 * Copies a group with its permissions into each of the domains, under the same name; all or none. Throws not-found,
 * invalid-value on `domainIds`, and what creating the permissions throws.
 * @source docs/decisions/0042-api-contract.md, Clone paths
 */
export async function cloneGroupToDomains(
  store: Store,
  groupId: string,
  domainIds: readonly string[],
  by: ActorContext,
): Promise<Group[]> {
  const unknown = domainIds.find((id) => !by.scope.canAssign(id));
  if (unknown !== undefined)
    throw invalidValue("domainIds", sentence("field.no-resource-with-the-id-id-was-found", { id: unknown }));
  return store.write((tx) => {
    const group = tx.get(securityGroups, groupId, by.scope);
    if (!group) throw notFound();
    return domainIds.map((domainId) => {
      const { id } = tx.clone(securityGroups, groupId, by);
      return tx.update(securityGroups, id, { name: group.name }, by, { domainId, alsoIn: null });
    }) as Sync<Group[]>;
  });
}

/** Resources for which a group may define an allow list. */
export type AllowListedResource = "message-templates" | "scenarios";

const ALLOW_LIST_TABLES: Readonly<Record<AllowListedResource, string>> = {
  "message-templates": "security_groups__allowed_message_template_ids",
  scenarios: "security_groups__allowed_scenario_ids",
};

/**
 * Internal keys of the templates or scenarios that the actor may use; null: no restriction. Members of groups with
 * allow lists are restricted to the union of these lists, except super users; the system is never restricted.
 */
export function readAllowList(
  reader: StoreReader,
  kind: AllowListedResource,
  { actor }: ActorContext,
): ReadonlySet<number> | null {
  if (actor.kind === "system" || actor.userId === null) return null;
  const user = reader.one<{ pk: number }>("SELECT pk FROM users WHERE id = ?", actor.userId);
  if (!user) return null;
  const named = reader.all<{ target: number }>(
    `SELECT l.target FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN ${ALLOW_LIST_TABLES[kind]} l ON l.owner = m.security_group_pk WHERE m.user_pk = ?`,
    user.pk,
  );
  if (named.length === 0 || readUserRights(reader, user.pk).superUser) return null;
  return new Set(named.map(({ target }) => target));
}
