import { Button } from "@mantine/core";
import type { GrantRow, MemberRow, SecurityGroupRow } from "../api/identity-rows.ts";
import { useChange, useRow, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ListPage, OpenButton } from "../list/list-page.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import { AllowedTemplates } from "./allowed-templates.tsx";
import { DirectoryTies } from "./directory-ties.tsx";
import { Grants } from "./grants.tsx";
import { GroupCopies } from "./group-copies.tsx";
import { MemberPanel, Person } from "./member-panel.tsx";

/** Groups that carry permissions. */
export default function SecurityGroupsPage() {
  const { t } = useWords();
  return (
    <ListPage<SecurityGroupRow>
      tabs="people"
      title={t("security.title")}
      add={t("security.add")}
      none={t("security.none")}
      route="security-groups"
      columns={(open) => [
        {
          id: "name",
          head: t("field.name"),
          width: "2fr",
          sort: "name",
          cell: (row) => <OpenButton name={row.name} onOpen={() => open(row.id)} />,
        },
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
  const { t } = useWords();
  return (
    <RowSheet
      id={securityGroupId}
      collection="security-groups"
      item="security-groups/{securityGroupId}"
      newTitle={t("security.add")}
      onClose={onClose}
      fields={[{ name: "name" }, { name: "superGroup", hint: t("security.super-hint") }]}
      tabs={[
        { id: "members", label: t("members.title"), content: <GroupMembers securityGroupId={securityGroupId} /> },
        { id: "grants", label: t("security.grants"), content: <GroupGrants securityGroupId={securityGroupId} /> },
        { id: "allowed", label: t("allowed.title"), content: <AllowedTemplates securityGroupId={securityGroupId} /> },
        {
          id: "directory",
          label: t("directory.ties"),
          content: <DirectoryTies route="security-groups/{securityGroupId}/scim-groups" params={{ securityGroupId }} />,
        },
      ]}
    >
      <GroupCopies securityGroupId={securityGroupId} />
    </RowSheet>
  );
}

function GroupMembers({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  const { client } = useConsole();
  return (
    <MemberPanel<MemberRow>
      of={{
        resource: "security-group-members",
        route: "security-groups/{securityGroupId}/members",
        params: { securityGroupId },
        none: t("security.no-members"),
        columns: [
          { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <Person user={row.user} /> },
          {
            id: "leave",
            head: t("remove"),
            width: "7rem",
            side: true,
            cell: (row) => <OutButton {...{ securityGroupId }} userId={row.userId} who={row.user?.name ?? ""} />,
          },
        ],
        has: (user) => user.securityGroups.some(({ id }) => id === securityGroupId),
        place: (user) => <OutButton {...{ securityGroupId }} userId={user.id} who={user.name} />,
        add: (userId) => client.post("security-groups/{securityGroupId}/members", { securityGroupId }, { userId }),
      }}
    />
  );
}

function OutButton({ securityGroupId, userId, who }: { securityGroupId: string; userId: string; who: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const back = useChange<void, unknown>("security-group-members", () =>
    client.post("security-groups/{securityGroupId}/members", { securityGroupId }, { userId }),
  );
  const leave = useChange<void, void>("security-group-members", async () => {
    await client.remove("users/{userId}/security-groups/{securityGroupId}", { userId, securityGroupId });
    say(t("removed"), () => back.mutate());
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={leave.isPending}
        aria-label={t("lists.remove-named", { who })}
        onClick={() => leave.mutate()}
      >
        {t("remove")}
      </Button>
      <FaultLine error={leave.error ?? back.error} />
    </>
  );
}

function GroupGrants({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  const { client } = useConsole();
  const group = useRow<SecurityGroupRow>("security-groups/{securityGroupId}", { securityGroupId });
  const grants = useRows<GrantRow>(
    "security-groups/{securityGroupId}/permissions",
    { securityGroupId },
    { limit: 1_000 },
  );
  if (group.data?.superGroup) return <p>{t("security.super-words")}</p>;
  return (
    <>
      <FaultLine error={grants.error ?? group.error} />
      {grants.data?.total === 0 && <p className="soft">{t("security.no-grants")}</p>}
      <Grants
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
