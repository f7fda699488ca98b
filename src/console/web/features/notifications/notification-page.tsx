import { Link, useParams } from "@tanstack/react-router";
import { DEVICE_OUTCOMES, OUTCOME_TONES, outcomeTotal } from "../../../../resources/notifications/device-outcomes.ts";
import type { ActivityRow, NotificationRow } from "../../api/rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import type { Translator } from "../../i18n/translator.ts";
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
import "./outcomes.css";
import { PageTitle } from "../../ui/page-title.tsx";
import { BodyText, SubjectText } from "../../ui/subject-text.tsx";

/** One notification: deliveries, responses and actions. */
export default function NotificationPage() {
  const { t } = useTranslation();
  const { notificationId = "" } = useParams({ strict: false });
  const { data: row, error } = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  if (!row) return <UnavailablePage title={t("notification.title")} error={error} />;
  return (
    <div className="page">
      <Header row={row} />
      <Outcomes row={row} />
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
        <PageTitle>
          <SubjectText row={row} />
        </PageTitle>
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

function Outcomes({ row }: { row: NotificationRow }) {
  const { t, name } = useTranslation();
  const [{ outcome }, show] = useTableSearch();
  const counts = row.progress.outcomes;
  const shown = DEVICE_OUTCOMES.filter((each) => counts[each] > 0 || each === outcome);
  return (
    <section className="card" aria-label={t("notification.outcomes")} aria-live="polite">
      <ReachBar outcomes={counts} />
      <div className="row">
        <button
          type="button"
          className="chip-button"
          aria-pressed={!outcome}
          onClick={() => show({ outcome: undefined })}
        >
          <strong>{outcomeTotal(counts)}</strong>
          {t("notification.all")}
        </button>
        {shown.map((each) => (
          <button
            key={each}
            type="button"
            className={`chip-button ${OUTCOME_TONES[each]}`}
            aria-pressed={outcome === each}
            onClick={() => show({ outcome: each })}
          >
            <strong>{counts[each]}</strong>
            {name("outcome", each)}
          </button>
        ))}
      </div>
      <PartlyHeard row={row} />
    </section>
  );
}

/** How many phones heard too little of the audio, which no outcome says. */
function PartlyHeard({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const { partly } = useMissedAudio(row);
  if (partly === 0) return null;
  return (
    <div className="row">
      <Chip tone="warn">{t("notification.heard-partly")}</Chip>
      <span>{t("notification.heard-partly-why", { count: partly })}</span>
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
      {row.body && (
        <p style={{ whiteSpace: "pre-wrap" }}>
          <BodyText row={row} />
        </p>
      )}
      <dl className="facts">
        {row.unfilledVariables.length > 0 && (
          <>
            <dt>{t("field.unfilledVariables")}</dt>
            <dd>{row.unfilledVariables.join(", ")}</dd>
          </>
        )}
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
function messageOf({ details, detailsSentence }: ActivityRow, say: Translator["say"]): string | null {
  const { message } = (details ?? {}) as { message?: unknown };
  return typeof message === "string" ? say(message, detailsSentence) : null;
}

function ActivityLog({ notificationId }: { notificationId: string }) {
  const { t, name, say } = useTranslation();
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
            {messageOf(row, say) ?? name("activity", row.type)}
            {row.user && <span className="soft">{row.user.name}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
