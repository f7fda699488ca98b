import { Button } from "@mantine/core";
import type { DirectoryGroupRow, DirectoryMemberRow } from "../api/identity-rows.ts";
import { useChange, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ListPage, OpenButton } from "../list/list-page.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import { MemberPanel, Person } from "./member-panel.tsx";

/** Groups of people in a directory outside, which lists and security groups can be tied to. */
export default function DirectoryGroupsPage() {
  const { t } = useWords();
  return (
    <ListPage<DirectoryGroupRow>
      tabs="people"
      title={t("directory.title")}
      add={t("directory.add")}
      none={t("directory.none")}
      route="scim-groups"
      query={{ includeMemberCounts: true }}
      columns={(open) => [
        {
          id: "name",
          head: t("field.name"),
          width: "2fr",
          sort: "name",
          cell: (row) => <OpenButton name={row.name} onOpen={() => open(row.id)} />,
        },
        { id: "externalId", head: t("field.externalId"), width: "2fr", cell: (row) => row.externalId ?? "–" },
        {
          id: "members",
          head: t("members.title"),
          width: "8rem",
          side: true,
          cell: (row) => t("directory.count", { n: row.memberCount ?? 0 }),
        },
      ]}
      sheet={(id, onClose) => <DirectoryGroupSheet key={id} scimGroupId={id} onClose={onClose} />}
    />
  );
}

function DirectoryGroupSheet({ scimGroupId, onClose }: { scimGroupId: string; onClose: () => void }) {
  const { t } = useWords();
  return (
    <RowSheet
      id={scimGroupId}
      collection="scim-groups"
      item="scim-groups/{scimGroupId}"
      newTitle={t("directory.add")}
      onClose={onClose}
      fields={[
        { name: "name", hint: t("directory.name-hint") },
        { name: "externalId", hint: t("directory.id-hint") },
      ]}
      tabs={[{ id: "members", label: t("members.title"), content: <DirectoryMembers scimGroupId={scimGroupId} /> }]}
    >
      <p className="soft">{t("directory.words")}</p>
    </RowSheet>
  );
}

/** Of so many members it is known beforehand who is in; the appliance knows of the others, and refuses what is there. */
const KNOWN_MEMBERS = 1_000;

function DirectoryMembers({ scimGroupId }: { scimGroupId: string }) {
  const { t } = useWords();
  const { client } = useConsole();
  const known = useRows<DirectoryMemberRow>(
    "scim-groups/{scimGroupId}/members",
    { scimGroupId },
    { limit: KNOWN_MEMBERS },
  );
  const byUser = new Map(known.data?.data.map((row) => [row.userId, row]));
  const out = (row: DirectoryMemberRow | undefined, who: string) =>
    row && <OutButton scimGroupId={scimGroupId} row={row} who={who} />;
  return (
    <MemberPanel<DirectoryMemberRow>
      of={{
        resource: "scim-group-members",
        route: "scim-groups/{scimGroupId}/members",
        params: { scimGroupId },
        none: t("security.no-members"),
        columns: [
          { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <Person user={row.user} /> },
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
        add: (userId) => client.post("scim-groups/{scimGroupId}/members", { scimGroupId }, { userId }),
      }}
    />
  );
}

function OutButton({ scimGroupId, row, who }: { scimGroupId: string; row: DirectoryMemberRow; who: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const back = useChange<void, unknown>("scim-group-members", () =>
    client.post("scim-groups/{scimGroupId}/members", { scimGroupId }, { userId: row.userId }),
  );
  const leave = useChange<void, void>("scim-group-members", async () => {
    await client.remove("scim-groups/{scimGroupId}/members/{memberId}", { scimGroupId, memberId: row.id });
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
