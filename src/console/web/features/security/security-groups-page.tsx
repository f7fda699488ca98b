import type { MemberRow, PermissionRow, SecurityGroupRow } from "../../api/identity-rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { MemberName, MemberPanel, RemoveMemberButton } from "../people/member-panel.tsx";
import { AllowedTemplates } from "./allowed-templates.tsx";
import { DirectoryGroupLinks } from "./directory-group-links.tsx";
import { Permissions } from "./permissions.tsx";
import { SecurityGroupCopies } from "./security-group-copies.tsx";

/** Groups that carry permissions. */
export default function SecurityGroupsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<SecurityGroupRow>
      tabs="people"
      title={t("security.title")}
      add={t("security.add")}
      none={t("security.none")}
      route="security-groups"
      columns={[
        {
          id: "super",
          head: t("person.rights"),
          width: "1fr",
          side: true,
          cell: (row) => (row.superGroup ? <Chip tone="warn">{t("security.super")}</Chip> : t("security.by-grants")),
        },
      ]}
      sheet={(id, onClose) => <GroupSheet key={id} securityGroupId={id} onClose={onClose} />}
    />
  );
}

function GroupSheet({ securityGroupId, onClose }: { securityGroupId: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={securityGroupId}
      item="security-groups/{securityGroupId}"
      newTitle={t("security.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "superGroup", hint: t("security.super-hint") },
        { name: "secondFactorRequired" },
      ]}
      tabs={[
        { id: "members", label: t("members.title"), content: <GroupMembers securityGroupId={securityGroupId} /> },
        { id: "grants", label: t("security.grants"), content: <GroupPermissions securityGroupId={securityGroupId} /> },
        { id: "allowed", label: t("allowed.title"), content: <AllowedTemplates securityGroupId={securityGroupId} /> },
        {
          id: "directory",
          label: t("directory.ties"),
          content: (
            <DirectoryGroupLinks route="security-groups/{securityGroupId}/scim-groups" params={{ securityGroupId }} />
          ),
        },
      ]}
    >
      <SecurityGroupCopies securityGroupId={securityGroupId} />
    </RowSheet>
  );
}

function GroupMembers({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const join = (userId: string) =>
    client.post("security-groups/{securityGroupId}/members", { securityGroupId }, { userId });
  const out = (userId: string, who: string) => (
    <RemoveMemberButton
      resource="security-group-members"
      who={who}
      leave={() => client.remove("users/{userId}/security-groups/{securityGroupId}", { userId, securityGroupId })}
      back={() => join(userId)}
    />
  );
  return (
    <MemberPanel<MemberRow>
      of={{
        resource: "security-group-members",
        route: "security-groups/{securityGroupId}/members",
        params: { securityGroupId },
        none: t("security.no-members"),
        columns: [
          { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <MemberName user={row.user} /> },
          {
            id: "leave",
            head: t("remove"),
            width: "7rem",
            side: true,
            cell: (row) => out(row.userId, row.user?.name ?? ""),
          },
        ],
        has: (user) => user.securityGroups.some(({ id }) => id === securityGroupId),
        place: ({ id, name }) => out(id, name),
        add: join,
      }}
    />
  );
}

function GroupPermissions({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const group = useRow<SecurityGroupRow>("security-groups/{securityGroupId}", { securityGroupId });
  const grants = useRows<PermissionRow>(
    "security-groups/{securityGroupId}/permissions",
    { securityGroupId },
    { limit: 1_000 },
  );
  if (group.data?.superGroup) return <p>{t("security.super-text")}</p>;
  return (
    <>
      <ErrorLine error={grants.error ?? group.error} />
      {grants.data?.total === 0 && <p className="soft">{t("security.no-grants")}</p>}
      <Permissions
        resource="security-group-permissions"
        rows={grants.data?.data ?? []}
        onAdd={(grant) => client.post("security-groups/{securityGroupId}/permissions", { securityGroupId }, grant)}
        onRemove={(permissionId) =>
          client.remove("security-groups/{securityGroupId}/permissions/{permissionId}", {
            securityGroupId,
            permissionId,
          })
        }
      />
    </>
  );
}
