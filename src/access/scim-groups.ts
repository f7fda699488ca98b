import type scimGroups from "../resources/security/scim-groups.ts";
import type { Behaviour, PresentContext } from "../store/store.ts";

interface GroupLine extends Record<string, string | number | null> {
  id: string;
  name: string;
  n: number | null;
}

/** Shows how many users a directory's group has, where it is asked for. */
export const scimGroupBehaviour: Behaviour<typeof scimGroups> = {
  present(rows, context) {
    const found = groupsOf(
      rows.map(({ id }) => id),
      context,
    );
    return rows.map(({ id }) => countOf(found.get(id)));
  },
};

/** Shows what the directory calls the group of a tie, and how many users it has. */
export function presentScimTies(
  rows: readonly { scimGroupId: string }[],
  context: PresentContext,
): Record<string, unknown>[] {
  const found = groupsOf(
    rows.map(({ scimGroupId }) => scimGroupId),
    context,
  );
  return rows.map(({ scimGroupId }) => {
    const group = found.get(scimGroupId);
    return { name: group?.name ?? null, ...countOf(group) };
  });
}

function countOf(group: GroupLine | undefined): { memberCount?: number } {
  return group && group.n !== null ? { memberCount: group.n } : {};
}

/** One query a page; `n` is null unless the request asks for counts. */
function groupsOf(ids: readonly string[], { reader, query }: PresentContext): Map<string, GroupLine> {
  const count = query.includeMemberCounts === true;
  const members = "(SELECT count(*) FROM scim_group_members m WHERE m.scim_group_pk = g.pk)";
  const lines = reader.all<GroupLine>(
    `SELECT g.id, g.name, ${count ? members : "NULL"} AS n FROM scim_groups g
     WHERE g.id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(lines.map((line) => [line.id, line]));
}
