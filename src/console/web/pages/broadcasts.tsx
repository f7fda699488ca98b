import { Link } from "@tanstack/react-router";
import type { NotificationRow } from "../api/rows.ts";
import { stateOf } from "../api/sounding.ts";
import { Chip, DrillChip } from "../parts/level-chip.tsx";
import { Moment } from "../parts/moment.tsx";
import { ReachBar } from "../parts/reach-bar.tsx";
import { type Column, ServerTable } from "../parts/server-table.tsx";
import { useTableSearch } from "../parts/use-table-search.ts";
import { useWords } from "../words/use-words.tsx";

/** What was sent, newest first. */
export default function BroadcastsPage() {
  const { t, name } = useWords();
  const [{ sort = "-createdAt" }, show] = useTableSearch();
  const columns: Column<NotificationRow>[] = [
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
      cell: (row) => <Chip tone="">{name("state", stateOf(row))}</Chip>,
    },
    {
      id: "at",
      head: t("broadcast.sent"),
      width: "11rem",
      sort: "createdAt",
      cell: (row) => <Moment at={row.createdAt} />,
    },
    { id: "by", head: t("broadcast.by"), width: "1fr", cell: (row) => row.initiator?.name ?? "–" },
    { id: "reach", head: t("reach.title"), width: "1.3fr", cell: (row) => <ReachBar devices={row.progress.devices} /> },
  ];
  return (
    <div className="page full">
      <h1>{t("history.title")}</h1>
      <ServerTable<NotificationRow>
        label={t("history.title")}
        route="notifications"
        query={{ draft: false }}
        columns={columns}
        sort={sort}
        onSort={(next) => show({ sort: next })}
        empty={
          <p>
            {t("now.last-none")} <Link to="/send">{t("now.send")}</Link>
          </p>
        }
      />
    </div>
  );
}
