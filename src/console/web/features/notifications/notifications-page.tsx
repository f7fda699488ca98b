import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { NotificationRow } from "../../api/rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { drillFilter } from "../../ui/list/drill-filter.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { BroadcastStateChip, DrillChip } from "../../ui/status-chip.tsx";
import { Moment } from "../../ui/timestamp.tsx";

const SENT = { draft: false };

/** What was sent, newest first. */
export default function BroadcastsPage() {
  const words = useWords();
  const { t } = words;
  const navigate = useNavigate();
  return (
    <ListPage<NotificationRow>
      tabs="history"
      title={t("history.title")}
      add={
        <Button component={Link} to="/send">
          {t("now.send")}
        </Button>
      }
      none={t("now.last-none")}
      route="notifications"
      query={SENT}
      sort="-createdAt"
      filters={[drillFilter(words)]}
      onOpen={({ id }) => void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } })}
      columns={[
        {
          id: "subject",
          head: t("field.subject"),
          width: "2fr",
          sort: "subject",
          cell: (row) => (
            <span className="row">
              <DrillChip drill={row.drill} />
              <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
                {row.subject}
              </Link>
            </span>
          ),
        },
        {
          id: "state",
          head: t("field.status"),
          width: "8rem",
          side: true,
          cell: (row) => <BroadcastStateChip row={row} />,
        },
        {
          id: "at",
          head: t("broadcast.sent"),
          width: "12rem",
          sort: "createdAt",
          cell: (row) => <Moment at={row.createdAt} />,
        },
        { id: "by", head: t("broadcast.by"), width: "1fr", cell: (row) => row.initiator?.name ?? "–" },
        {
          id: "reach",
          head: t("reach.title"),
          width: "1.3fr",
          cell: (row) => <ReachBar devices={row.progress.devices} />,
        },
      ]}
    />
  );
}
