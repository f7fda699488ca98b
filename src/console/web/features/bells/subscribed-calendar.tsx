import { Button } from "@mantine/core";
import type { CalendarChanges, CalendarSubscriptionRow } from "../../api/bell-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { dateRangeText } from "./day-change-text.ts";

const ROUTE = "calendar-subscriptions/{calendarSubscriptionId}";

/** The state of a subscribed calendar: what waits for confirmation, what changed last, what cannot be read. */
export function SubscribedCalendar({ id }: { id: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const params = { calendarSubscriptionId: id };
  const found = useRow<CalendarSubscriptionRow>(ROUTE, params);
  const refresh = useRowMutation<void, CalendarSubscriptionRow>("calendar-subscriptions", () =>
    client.post<CalendarSubscriptionRow>(`${ROUTE}/refresh`, params, {}),
  );
  const confirm = useRowMutation<string, CalendarSubscriptionRow>("calendar-subscriptions", (pendingId) =>
    client.post<CalendarSubscriptionRow>(`${ROUTE}/confirmation`, params, { pendingId }),
  );
  const row = found.data;
  if (!row) return <ErrorLine error={found.error} />;
  const { pendingId, pendingChanges, lastChanges, changedAt, rejected } = row;
  return (
    <section className="stack" aria-label={t("subscribed.state")} aria-live="polite">
      {pendingId && pendingChanges ? (
        <div className="card stop-question" role="alert">
          <h3>{t("subscribed.waiting")}</h3>
          <p>{row.reason && <SentenceText text={row.reason} sentence={row.reasonSentence} />}</p>
          <Changes changes={pendingChanges} />
          <div className="row">
            <Button loading={confirm.isPending} onClick={() => confirm.mutate(pendingId)}>
              {t("subscribed.confirm")}
            </Button>
          </div>
        </div>
      ) : (
        row.reason && (
          <p role="alert">
            <SentenceText text={row.reason} sentence={row.reasonSentence} />
          </p>
        )
      )}
      <ErrorLine error={confirm.error ?? refresh.error} />
      <div>
        <Button variant="default" loading={refresh.isPending} onClick={() => refresh.mutate()}>
          {t("subscribed.refresh-now")}
        </Button>
      </div>
      {lastChanges && changedAt && (
        <details>
          <summary>
            {t("subscribed.last-change")} <Timestamp at={changedAt} />
          </summary>
          <Changes changes={lastChanges} />
        </details>
      )}
      {rejected.length > 0 && (
        <details>
          <summary>{t("subscribed.rejected", { count: rejected.length })}</summary>
          <ul className="plain">
            {rejected.map(({ number, summary, message, messageSentence }) => (
              <li key={number}>
                {summary ?? number}: <SentenceText text={message} sentence={messageSentence} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** Days added and removed in each schedule, and the bells that would be silent. */
function Changes({ changes: { schedules, rings } }: { changes: CalendarChanges }) {
  const { t, language } = useTranslation();
  const spanText = (span: { startDate: string; endDate: string; description: string | null }): string =>
    [dateRangeText(span, language, "short"), span.description].filter(Boolean).join(" ");
  return (
    <ul className="plain lined">
      {schedules.map(({ bellScheduleId, name, added, removed }) => (
        <li key={bellScheduleId}>
          <strong>{name}</strong>
          {added.length > 0 && <p>{t("subscribed.added", { days: added.map(spanText).join(", ") })}</p>}
          {removed.length > 0 && <p>{t("subscribed.removed", { days: removed.map(spanText).join(", ") })}</p>}
        </li>
      ))}
      <li>{t("subscribed.silenced", { count: rings.silenced })}</li>
      {rings.first.map(({ bellScheduleId, localDate, localTime }) => (
        <li key={`${bellScheduleId} ${localDate} ${localTime}`} className="soft">
          {`${dateRangeText({ startDate: localDate, endDate: localDate }, language, "short")}, ${localTime.slice(0, 5)}`}
        </li>
      ))}
    </ul>
  );
}
