import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { ReachVerdict } from "../../../../resources/notifications/device-outcomes.ts";
import type { AlarmRow } from "../../api/alarm-rows.ts";
import {
  activeDurationMs,
  activeNotifications,
  messageVerdict,
  notificationState,
} from "../../api/notification-state.ts";
import type { NotificationRow } from "../../api/rows.ts";
import type { IncidentRow } from "../../api/scenario-rows.ts";
import { useCanRead, useRecentNotifications, useRows } from "../../api/use-rows.ts";
import { useNow } from "../../console-context.tsx";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { HealthCard } from "../../ui/health-card.tsx";
import { PageTitle } from "../../ui/page-title.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip, DrillChip, NotificationStateChip, VerdictChip } from "../../ui/status-chip.tsx";
import { StopButton } from "../../ui/stop-button.tsx";
import { SubjectText } from "../../ui/subject-text.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { DeviceStates } from "../devices/device-states.tsx";

const NextBells = lazy(() => import("../bells/next-bells.tsx"));

/** Dashboard: health, active messages, next rings and recent messages. */
export default function DashboardPage() {
  const { t } = useTranslation();
  const last = useRecentNotifications(10);
  const rows = last.data?.data ?? [];
  const now = useNow();
  return (
    <div className="page">
      <div className="head">
        <PageTitle>{t("dashboard.title")}</PageTitle>
        <span className="space" />
        <Button component={Link} to="/send">
          {t("dashboard.send")}
        </Button>
      </div>
      <IncidentsCard />
      <div className="glance">
        <HealthCard>
          <OpenAlarms />
        </HealthCard>
        <ActiveNotificationsCard rows={last.data ? activeNotifications(rows, now) : null} />
        <DevicesCard last={rows.find((row) => !["ready", "going"].includes(notificationState(row, now)))} />
      </div>
      <div className="glance-more">
        <Suspense fallback={<section className="card" />}>
          <NextBells />
        </Suspense>
        <section className="card">
          <h2>{t("dashboard.last")}</h2>
          {last.data && rows.length === 0 && (
            <p className="soft">
              {t("dashboard.last-none")} <Link to="/welcome">{t("dashboard.try")}</Link>
            </p>
          )}
          <ul className="plain">
            {rows.map((row) => (
              <LastNotification key={row.id} row={row} />
            ))}
          </ul>
        </section>
      </div>
    </div>
  );
}

/** Incidents in progress: a user who opens the console during one needs the link to it. */
function IncidentsCard() {
  const { t } = useTranslation();
  const going = useRows<IncidentRow>("incidents", {}, { ongoingOnly: true, sort: "-createdAt", limit: 10 });
  const rows = going.data?.data ?? [];
  const more = (going.data?.total ?? 0) - rows.length;
  if (rows.length === 0) return null;
  return (
    <section className="card">
      <h2>{t("dashboard.incidents")}</h2>
      <ul className="plain">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <DrillChip drill={row.drill} />
            <Link className="grow" to="/incidents/$incidentId" params={{ incidentId: row.id }}>
              {row.name ?? t("dashboard.incident")}
            </Link>
            <Timestamp at={row.createdAt} />
          </li>
        ))}
      </ul>
      {more > 0 && (
        <Link to="/incidents" search={{ ongoingOnly: "true" }}>
          {t("dashboard.more-incidents", { count: more })}
        </Link>
      )}
    </section>
  );
}

/** Alarms whose reasons the appliance's health tells itself. */
const TOLD_BY_HEALTH = ["onprem_server_red", "onprem_server_yellow"];

/** What is wrong beside the appliance itself, such as speakers that are gone; each leads to its alarm. */
function OpenAlarms() {
  const { t } = useTranslation();
  const alarms = useRows<AlarmRow>("alarms", {}, { limit: 100 }, { enabled: useCanRead("/alarms") });
  const open = (alarms.data?.data ?? []).filter(
    ({ status, type }) => status === "ACTIVE" && !TOLD_BY_HEALTH.includes(type),
  );
  if (open.length === 0) return null;
  return (
    <ul className="plain" aria-label={t("dashboard.alarms")} aria-live="polite">
      {open.map((row) => (
        <li key={row.id} className="row">
          <Chip tone={row.muted ? "warn" : "bad"}>{t("dashboard.alarm")}</Chip>
          <Link to="/alarms" search={{ open: row.id }}>
            {row.reasons[0] ? (
              <SentenceText text={row.reasons[0].reason} sentence={row.reasons[0].reasonSentence} />
            ) : (
              t("dashboard.alarm-open")
            )}
          </Link>
          {row.acknowledgedAt && (
            <span className="soft">{t("dashboard.alarm-seen-to", { name: row.acknowledgedBy ?? "" })}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Null while it is not known: never that nothing sounds. */
function ActiveNotificationsCard({ rows }: { rows: readonly NotificationRow[] | null }) {
  const { t } = useTranslation();
  const now = useNow();
  return (
    <section className="card">
      <h2>{t("active-notifications.title")}</h2>
      {rows?.length === 0 && <p className="soft">{t("active-notifications.none")}</p>}
      <ul className="plain">
        {rows?.map((row) => (
          <li key={row.id} className="row">
            <DrillChip drill={row.drill} />
            <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
              <SubjectText row={row} />
            </Link>
            <span>{elapsedText(activeDurationMs(row, now))}</span>
            <span className="space" />
            <StopButton row={row} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function DevicesCard({ last }: { last: NotificationRow | undefined }) {
  const { t } = useTranslation();
  const verdict = last && messageVerdict(last);
  return (
    <section className="card">
      <h2>{t("devices.title")}</h2>
      <DeviceStates />
      {last && verdict && <LastReach row={last} verdict={verdict} />}
    </section>
  );
}

/** What the last message reached; leads to the devices that it did not reach. */
function LastReach({ row, verdict }: { row: NotificationRow; verdict: ReachVerdict }) {
  const { t } = useTranslation();
  const { notReached } = row.progress.outcomes;
  return (
    <div className="stack tight">
      <div className="row">
        <span className="soft">{t("dashboard.last-reach")}</span>
        <VerdictChip verdict={verdict} />
      </div>
      {notReached > 0 && (
        <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }} search={{ outcome: "notReached" }}>
          <Chip tone="bad">{t("dashboard.missed", { count: notReached })}</Chip>
        </Link>
      )}
    </div>
  );
}

function LastNotification({ row }: { row: NotificationRow }) {
  return (
    <li className="split">
      <div className="row">
        <NotificationStateChip row={row} />
        <DrillChip drill={row.drill} />
        <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
          <SubjectText row={row} />
        </Link>
        <span className="soft">
          <Timestamp at={row.createdAt} />
          {row.initiator && ` · ${row.initiator.name}`}
        </span>
      </div>
      <ReachBar outcomes={row.progress.outcomes} />
    </li>
  );
}
