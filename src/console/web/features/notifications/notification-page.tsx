import { Link, useParams } from "@tanstack/react-router";
import { DELIVERY_LEVELS } from "../../../../resources/notifications/delivery-levels.ts";
import { MISSED_AUDIO_PHRASE } from "../../../../resources/notifications/missed-audio.ts";
import type { ActivityRow, NotificationRow } from "../../api/rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { Chip, DrillChip, NotificationStateChip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { DeliveryList } from "./delivery-list.tsx";
import { DeliveryProgress } from "./delivery-progress.tsx";
import { FollowUpMessages, NotificationActions } from "./notification-actions.tsx";
import { useMissedAudio } from "./use-missed-audio.ts";

/** One notification: deliveries, responses and actions. */
export default function NotificationPage() {
  const { t } = useTranslation();
  const { notificationId = "" } = useParams({ strict: false });
  const { data: row, error } = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  if (!row) return <UnavailablePage title={t("notification.title")} error={error} />;
  return (
    <div className="page">
      <Header row={row} />
      <Levels row={row} />
      <DeliveryList row={row} />
      <div className="grid">
        <MessageCard row={row} />
        <DeliveryProgress row={row} />
        <FollowUpMessages row={row} />
        <ActivityLog notificationId={row.id} />
      </div>
    </div>
  );
}

function Header({ row }: { row: NotificationRow }) {
  const { t, name } = useTranslation();
  return (
    <header className={row.drill ? "card drill" : "card"}>
      <div className="head">
        <DrillChip drill={row.drill} />
        <h1>{row.subject}</h1>
        <NotificationStateChip row={row} />
        <span className="space" />
        <NotificationActions row={row} />
      </div>
      <p>
        {t("notification.sent")} <Timestamp at={row.createdAt} />
        {row.initiator && ` · ${row.initiator.name}`}
      </p>
      {row.approval && (
        <p>
          {name("approval", row.approval)}
          {row.approver && ` · ${row.approver.name}`}
        </p>
      )}
      <nav className="row">
        {row.confirmableCount > 0 && (
          <Link to="/broadcasts/$notificationId/roll-call" params={{ notificationId: row.id }}>
            {t("roll-call.title")}
          </Link>
        )}
        <Link to="/broadcasts/$notificationId/rooms" params={{ notificationId: row.id }}>
          {t("deliveries-by-room.title")}
        </Link>
      </nav>
    </header>
  );
}

function Levels({ row }: { row: NotificationRow }) {
  const { t, name } = useTranslation();
  const [{ level }, show] = useTableSearch();
  const counts = row.progress.devices;
  const levels = DELIVERY_LEVELS.filter((each) => (counts[each] ?? 0) > 0 || each === level);
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return (
    <section className="card" aria-label={t("notification.levels")} aria-live="polite">
      <ReachBar devices={counts} />
      <div className="row">
        <button type="button" className="chip-button" aria-pressed={!level} onClick={() => show({ level: undefined })}>
          <strong>{total}</strong>
          {t("notification.all")}
        </button>
        {levels.map((each) => (
          <button
            key={each}
            type="button"
            className="chip-button"
            aria-pressed={level === each}
            onClick={() => show({ level: each })}
          >
            <strong>{counts[each] ?? 0}</strong>
            {name("level", each)}
          </button>
        ))}
      </div>
      <TextOnly row={row} />
    </section>
  );
}

/** How many phones were reached when there was nothing more to hear, or too little, which no level says. */
function TextOnly({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const [{ q }, show] = useTableSearch();
  const { asked, joined, partly } = useMissedAudio(row);
  const n = asked + joined;
  if (n + partly === 0) return null;
  const isShown = q === MISSED_AUDIO_PHRASE;
  return (
    <div className="row">
      <Chip tone="warn">{t(n > 0 ? "notification.shown-only" : "notification.heard-partly")}</Chip>
      {n > 0 && <span>{t("notification.shown-only-why", { count: n })}</span>}
      {partly > 0 && <span>{t("notification.heard-partly-why", { count: partly })}</span>}
      <button
        type="button"
        className="filter-chip"
        aria-pressed={isShown}
        onClick={() => show({ level: undefined, q: isShown ? undefined : MISSED_AUDIO_PHRASE })}
      >
        {t("notification.shown-only-which")}
      </button>
    </div>
  );
}

function MessageCard({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const names = (all: readonly { name: string }[]) => all.map(({ name }) => name).join(", ") || "–";
  const answers = Object.entries(row.confirmationResults);
  return (
    <section className="card">
      <h2>{t("notification.message")}</h2>
      {row.body && <p style={{ whiteSpace: "pre-wrap" }}>{row.body}</p>}
      <dl className="facts">
        <dt>{t("field.alertTone")}</dt>
        <dd>{row.alertTone ?? "–"}</dd>
        <dt>{t("field.deviceGroupIds")}</dt>
        <dd>{names(row.deviceGroups)}</dd>
        <dt>{t("field.distributionListIds")}</dt>
        <dd>{names(row.distributionLists)}</dd>
        <dt>{t("reach.people")}</dt>
        <dd>{t("notification.read", { count: row.readCount, total: row.recipientCount })}</dd>
        {answers.map(([answer, n]) => (
          <Answer key={answer} answer={answer} n={n} />
        ))}
      </dl>
    </section>
  );
}

function Answer({ answer, n }: { answer: string; n: number }) {
  return (
    <>
      <dt>{answer}</dt>
      <dd>{n}</dd>
    </>
  );
}

/** Message of the appliance about an entry. */
function messageOf(details: unknown): string | null {
  const { message } = (details ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : null;
}

function ActivityLog({ notificationId }: { notificationId: string }) {
  const { t, name } = useTranslation();
  const activities = useRows<ActivityRow>(
    "notifications/{notificationId}/activities",
    { notificationId },
    { limit: 200 },
  );
  return (
    <section className="card">
      <h2>{t("notification.diary")}</h2>
      <ol className="plain">
        {activities.data?.data.map((row) => (
          <li key={row.id} className="row">
            <span className="soft">
              <Timestamp at={row.createdAt} />
            </span>
            {messageOf(row.details) ?? name("activity", row.type)}
            {row.user && <span className="soft">{row.user.name}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
