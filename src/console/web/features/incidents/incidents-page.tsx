import { Link, useNavigate } from "@tanstack/react-router";
import type { IncidentRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { drillFilter } from "../../ui/list/drill-filter.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { IncidentStateChip } from "./incident-state.tsx";

const SHOWN = { includeNotificationCount: true };

/** Incidents and drills, newest first. */
export default function IncidentsPage() {
  const translator = useTranslation();
  const { t } = translator;
  const navigate = useNavigate();
  return (
    <ListPage<IncidentRow>
      tabs="history"
      title={t("incidents.title")}
      add={<Link to="/incident-plans">{t("incidents.plans")}</Link>}
      none={t("incidents.none")}
      route="incidents"
      query={SHOWN}
      sort="-createdAt"
      filters={[
        {
          name: "ongoingOnly",
          label: t("field.status"),
          choices: [{ value: "true", label: t("incident-state.going") }],
        },
        drillFilter(translator),
      ]}
      onOpen={({ id }) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: id } })}
      columns={[
        {
          id: "name",
          head: t("field.name"),
          width: "2fr",
          sort: "name",
          cell: (row) => (
            <span className="row">
              <DrillChip drill={row.drill} />
              <Link to="/incidents/$incidentId" params={{ incidentId: row.id }}>
                {row.name ?? t("incidents.unnamed")}
              </Link>
            </span>
          ),
        },
        {
          id: "state",
          head: t("field.status"),
          width: "8rem",
          side: true,
          cell: (row) => <IncidentStateChip row={row} />,
        },
        {
          id: "began",
          head: t("incident.began"),
          width: "12rem",
          sort: "createdAt",
          cell: (row) => <Timestamp at={row.createdAt} />,
        },
        { id: "by", head: t("notification.by"), width: "1fr", cell: (row) => row.startedBy?.name ?? "–" },
        { id: "site", head: t("field.siteId"), width: "1fr", cell: (row) => row.site?.name ?? "–" },
        {
          id: "messages",
          head: t("incident.messages"),
          width: "6.5rem",
          named: true,
          cell: (row) => String(row.notificationCount ?? 0),
        },
      ]}
    />
  );
}
