import type scimGroups from "../resources/security/scim-groups.ts";
import securityGroupScimGroups from "../resources/security/security-group-scim-groups.ts";
import securityGroups from "../resources/security/security-groups.ts";
import type { ActorContext, PresentContext, ResourceHooks, RowMutation, StoreReader } from "../store/store.ts";
import { assertCanDelegate } from "./privilege-escalation.ts";
import { readGroupRights } from "./rights.ts";

interface GroupLine extends Record<string, string | number | null> {
  id: string;
  name: string;
  n: number | null;
}

/**
 * Hooks of directory groups. Adds the member count on request. Renaming a group changes which directory group fills it,
 * so the caller must hold the rights of the linked security groups.
 */
export const scimGroupHooks: ResourceHooks<typeof scimGroups> = {
  beforeWrite: checkRename,
  present(rows, context) {
    const found = readGroups(
      rows.map(({ id }) => id),
      context,
    );
    return rows.map(({ id }) => memberCountOf(found.get(id)));
  },
};

function checkRename({ before, after }: RowMutation<typeof scimGroups>, tx: StoreReader, by: ActorContext): void {
  if (!before || !after || (before.name === after.name && before.externalId === after.externalId)) return;
  for (const { securityGroupId } of tx.find(securityGroupScimGroups, { scimGroupId: before.id })) {
    const group = tx.get(securityGroups, securityGroupId);
    if (group) assertCanDelegate(by, readGroupRights(tx, group.pk), []);
  }
}

/** Adds the name of the directory group, and its member count on request, to links. */
export function presentScimGroupLinks(
  rows: readonly { scimGroupId: string }[],
  context: PresentContext,
): Record<string, unknown>[] {
  const found = readGroups(
    rows.map(({ scimGroupId }) => scimGroupId),
    context,
  );
  return rows.map(({ scimGroupId }) => {
    const group = found.get(scimGroupId);
    return { name: group?.name ?? null, ...memberCountOf(group) };
  });
}

function memberCountOf(group: GroupLine | undefined): { memberCount?: number } {
  return group && group.n !== null ? { memberCount: group.n } : {};
}

/** One query per page; `n` is null unless counts are requested. */
function readGroups(ids: readonly string[], { reader, query }: PresentContext): Map<string, GroupLine> {
  const count = query.includeMemberCounts === true;
  const members = "(SELECT count(*) FROM scim_group_members m WHERE m.scim_group_pk = g.pk)";
  const lines = reader.all<GroupLine>(
    `SELECT g.id, g.name, ${count ? members : "NULL"} AS n FROM scim_groups g
     WHERE g.id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(lines.map((line) => [line.id, line]));
}
