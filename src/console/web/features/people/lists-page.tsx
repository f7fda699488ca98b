import type { SubscriptionRow } from "../../api/identity-rows.ts";
import type { DistributionListRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { DirectoryGroupLinks } from "../security/directory-group-links.tsx";
import { CampaignPanel } from "./campaign-panel.tsx";
import { MemberName, MemberPanel } from "./member-panel.tsx";
import { LeaveListButton, MembershipEndField } from "./person-lists.tsx";

/** Lists of people. */
export default function ListsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<DistributionListRow>
      tabs="people"
      title={t("lists.title")}
      add={t("lists.add")}
      none={t("lists.none")}
      route="distribution-lists"
      columns={[
        {
          id: "subscribable",
          head: t("field.isSubscribable"),
          width: "1fr",
          named: true,
          cell: (row) => (row.isSubscribable ? t("yes") : t("no")),
        },
      ]}
      sheet={(id, onClose) => <ListSheet key={id} distributionListId={id} onClose={onClose} />}
    />
  );
}

function ListSheet({ distributionListId, onClose }: { distributionListId: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={distributionListId}
      item="distribution-lists/{distributionListId}"
      newTitle={t("lists.add")}
      onClose={onClose}
      fields={[{ name: "name" }, { name: "isSubscribable" }, { name: "isShared", hint: t("lists.shared-hint") }]}
      tabs={[
        { id: "members", label: t("members.title"), content: <ListMembers distributionListId={distributionListId} /> },
        {
          id: "campaign",
          label: t("campaign.title"),
          content: <CampaignPanel distributionListId={distributionListId} />,
        },
        {
          id: "directory",
          label: t("directory.ties"),
          content: (
            <DirectoryGroupLinks
              route="distribution-lists/{distributionListId}/scim-groups"
              params={{ distributionListId }}
            />
          ),
        },
      ]}
    />
  );
}

function ListMembers({ distributionListId }: { distributionListId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const placeOf = (user: {
    subscriptions: readonly { id: string; distributionListId: string; subscriptionEndDate: string | null }[];
  }) => user.subscriptions.find((each) => each.distributionListId === distributionListId);
  return (
    <MemberPanel<SubscriptionRow>
      of={{
        resource: "subscriptions",
        route: "distribution-lists/{distributionListId}/user-subscriptions",
        params: { distributionListId },
        none: t("members.none"),
        columns: [
          { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <MemberName user={row.user} /> },
          {
            id: "until",
            head: t("person.until"),
            width: "9.5rem",
            cell: (row) => <MembershipEndField row={row} who={row.user?.name ?? ""} />,
          },
          {
            id: "leave",
            head: t("remove"),
            width: "7rem",
            side: true,
            cell: (row) => <LeaveListButton row={row} who={row.user?.name ?? ""} />,
          },
        ],
        has: (user) => placeOf(user) !== undefined,
        place: (user) => {
          const place = placeOf(user);
          return (
            place && (
              <span className="row tight">
                <MembershipEndField row={place} who={user.name} />
                <LeaveListButton row={place} userId={user.id} who={user.name} />
              </span>
            )
          );
        },
        add: (userId) =>
          client.post("distribution-lists/{distributionListId}/user-subscriptions", { distributionListId }, { userId }),
      }}
    />
  );
}
