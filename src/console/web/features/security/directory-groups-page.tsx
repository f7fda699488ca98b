import type { DirectoryGroupRow, DirectoryMemberRow } from "../../api/identity-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { MemberName, MemberPanel, RemoveMemberButton } from "../people/member-panel.tsx";

/** Groups of people in a directory outside, which lists and security groups can be tied to. */
export default function DirectoryGroupsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<DirectoryGroupRow>
      tabs="people"
      title={t("directory.title")}
      add={t("directory.add")}
      none={t("directory.none")}
      route="scim-groups"
      query={{ includeMemberCounts: true }}
      columns={[
        { id: "externalId", head: t("directory.id"), width: "2fr", cell: (row) => row.externalId ?? "–" },
        {
          id: "members",
          head: t("members.title"),
          width: "8rem",
          side: true,
          cell: (row) => t("directory.count", { count: row.memberCount ?? 0 }),
        },
      ]}
      sheet={(id, onClose) => <DirectoryGroupSheet key={id} scimGroupId={id} onClose={onClose} />}
    />
  );
}

function DirectoryGroupSheet({ scimGroupId, onClose }: { scimGroupId: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={scimGroupId}
      item="scim-groups/{scimGroupId}"
      newTitle={t("directory.add")}
      onClose={onClose}
      fields={[
        { name: "name", hint: t("directory.name-hint") },
        { name: "externalId", label: t("directory.id"), hint: t("directory.id-hint") },
      ]}
      tabs={[{ id: "members", label: t("members.title"), content: <DirectoryMembers scimGroupId={scimGroupId} /> }]}
    >
      <p className="soft">{t("directory.intro")}</p>
    </RowSheet>
  );
}

/** Of so many members it is known beforehand who is in; the appliance knows of the others, and refuses what is there. */
const KNOWN_MEMBERS = 1_000;

function DirectoryMembers({ scimGroupId }: { scimGroupId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const known = useRows<DirectoryMemberRow>(
    "scim-groups/{scimGroupId}/members",
    { scimGroupId },
    { limit: KNOWN_MEMBERS },
  );
  const byUser = new Map(known.data?.data.map((row) => [row.userId, row]));
  const join = (userId: string) => client.post("scim-groups/{scimGroupId}/members", { scimGroupId }, { userId });
  const out = (row: DirectoryMemberRow | undefined, who: string) =>
    row && (
      <RemoveMemberButton
        resource="scim-group-members"
        who={who}
        leave={() => client.remove("scim-groups/{scimGroupId}/members/{memberId}", { scimGroupId, memberId: row.id })}
        back={() => join(row.userId)}
      />
    );
  return (
    <MemberPanel<DirectoryMemberRow>
      of={{
        resource: "scim-group-members",
        route: "scim-groups/{scimGroupId}/members",
        params: { scimGroupId },
        none: t("security.no-members"),
        columns: [
          { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <MemberName user={row.user} /> },
          {
            id: "leave",
            head: t("remove"),
            width: "7rem",
            side: true,
            cell: (row) => out(row, row.user?.name ?? ""),
          },
        ],
        has: ({ id }) => byUser.has(id),
        place: ({ id, name }) => out(byUser.get(id), name),
        add: join,
      }}
    />
  );
}
