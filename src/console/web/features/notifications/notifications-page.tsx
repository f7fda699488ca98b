import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { NotificationRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { drillFilter } from "../../ui/list/drill-filter.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { DrillChip, NotificationStateChip } from "../../ui/status-chip.tsx";
import { SubjectText } from "../../ui/subject-text.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const SENT = { draft: false };

/** Sent notifications, newest first. */
export default function NotificationsPage() {
  const translator = useTranslation();
  const { t } = translator;
  const navigate = useNavigate();
  return (
    <ListPage<NotificationRow>
      tabs="history"
      title={t("notifications.title")}
      add={
        <Button component={Link} to="/send">
          {t("dashboard.send")}
        </Button>
      }
      none={t("dashboard.last-none")}
      route="notifications"
      query={SENT}
      sort="-createdAt"
      filters={[drillFilter(translator)]}
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
                <SubjectText row={row} />
              </Link>
            </span>
          ),
        },
        {
          id: "state",
          head: t("field.status"),
          width: "14rem",
          side: true,
          cell: (row) => (
            <span className="row tight">
              <NotificationStateChip row={row} />
            </span>
          ),
        },
        {
          id: "at",
          head: t("notification.sent"),
          width: "12rem",
          sort: "createdAt",
          cell: (row) => <Timestamp at={row.createdAt} />,
        },
        { id: "by", head: t("notification.by"), width: "1fr", cell: (row) => row.initiator?.name ?? "–" },
        {
          id: "reach",
          head: t("reach.title"),
          width: "1.3fr",
          cell: (row) => <ReachBar outcomes={row.progress.outcomes} />,
        },
      ]}
    />
  );
}
