import { Link } from "@tanstack/react-router";
import type { IncidentRow, TimelineEntry } from "../../api/scenario-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { entryLabel, entrySentence, entryTone, sinceText } from "./timeline-text.ts";

/** What happened, newest first, growing while it goes on. */
export function Timeline({ incident }: { incident: IncidentRow }) {
  const { t } = useTranslation();
  const timeline = useRow<{ data: TimelineEntry[] }>("incidents/{incidentId}/timeline", { incidentId: incident.id });
  const entries = timeline.data?.data ?? [];
  return (
    <section className="card" aria-label={t("notification.diary")}>
      <h2>{t("notification.diary")}</h2>
      <ErrorLine error={timeline.error} />
      <ol className="timeline" aria-live="polite" aria-relevant="additions">
        {entries.toReversed().map((entry, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: counted from the oldest, it stays the same
          <Entry key={`${entries.length - at} ${entry.at}`} entry={entry} beganAt={incident.createdAt} />
        ))}
      </ol>
    </section>
  );
}

function Entry({ entry, beganAt }: { entry: TimelineEntry; beganAt: string }) {
  const translator = useTranslation();
  const { t, language, dates } = translator;
  const time = new Intl.DateTimeFormat(language, { timeStyle: "medium" }).format(new Date(entry.at));
  const sentence = entrySentence(entry, translator);
  const isMessage = entry.kind === "message" && entry.notificationId !== null;
  return (
    <li data-kind={entry.kind}>
      <time dateTime={entry.at} title={dates.full(Date.parse(entry.at))}>
        {time}
        <small>{sinceText(entry.at, beganAt)}</small>
      </time>
      <div className="row">
        <Chip tone={entryTone(entry)}>{entryLabel(entry, translator)}</Chip>
        {isMessage ? (
          <Link to="/broadcasts/$notificationId" params={{ notificationId: entry.notificationId ?? "" }}>
            {sentence || t("timeline.message")}
          </Link>
        ) : (
          sentence && <span>{sentence}</span>
        )}
        {entry.userName && <span className="soft">{entry.userName}</span>}
      </div>
    </li>
  );
}
