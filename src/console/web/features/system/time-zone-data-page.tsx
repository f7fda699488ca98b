import type { TimeZoneChange, TimeZoneDataAnswer } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { PageTitle } from "../../ui/page-title.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { dayText, localTimeText, shortTime } from "../bells/calendar-dates.ts";
import "../../ui/lines.css";

const MAX_NAMED_ZONES = 12;

/** The time zone data that bells follow, and the rings that new data moved. */
export default function TimeZoneDataPage() {
  const { t } = useTranslation();
  const { data, error } = useRow<TimeZoneDataAnswer>("time-zone-data");
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("zone-data.title")}</PageTitle>
      <p className="soft">{t("zone-data.intro")}</p>
      <ErrorLine error={error} />
      {data && (
        <>
          <Sources data={data} />
          <h2>{t("zone-data.changes")}</h2>
          {data.changes.length === 0 && <p>{t("zone-data.no-changes")}</p>}
          {data.changes.map((change) => (
            <Change key={`${change.at} ${change.now}`} change={change} />
          ))}
        </>
      )}
    </div>
  );
}

function Sources({ data: { sources, problemSentences } }: { data: TimeZoneDataAnswer }) {
  const { t } = useTranslation();
  const namesOf = (names: readonly string[]): string =>
    names.length > MAX_NAMED_ZONES ? `${names.slice(0, MAX_NAMED_ZONES).join(", ")} …` : names.join(", ");
  return (
    <section className="card">
      <h2>{t("zone-data.sources")}</h2>
      <ul className="plain lined">
        {sources.map(({ kind, version, arrivedAt, isInUse, differs, lacks }) => (
          <li key={kind} className="row">
            <strong>{version ?? t("zone-source.unknown")}</strong>
            <span>{t(`zone-source.${kind}`)}</span>
            {isInUse ? (
              <Chip tone="good">{t("zone-data.in-use")}</Chip>
            ) : (
              <Chip tone={differs.length > 0 ? "warn" : ""}>
                {differs.length > 0 ? t("zone-data.differs", { count: differs.length }) : t("zone-data.same")}
              </Chip>
            )}
            {differs.length > 0 && <span className="soft">{namesOf(differs)}</span>}
            {lacks.length > 0 && <span className="soft">{t("zone-data.lacks", { count: lacks.length })}</span>}
            {arrivedAt !== null && (
              <span className="soft">
                {t("zone-data.since")} <Timestamp at={arrivedAt} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {problemSentences.map((each) => (
        <p key={each.text} role="alert">
          <SentenceText text={each.text} sentence={each} />
        </p>
      ))}
    </section>
  );
}

function Change({ change: { at, before, now, zones, rings, schedules, first } }: { change: TimeZoneChange }) {
  const { t, language } = useTranslation();
  return (
    <section className="card" aria-label={t("zone-data.change", { before, now })}>
      <h3>
        {t("zone-data.change", { before, now })}{" "}
        <small className="soft">
          <Timestamp at={at} />
        </small>
      </h3>
      <ul className="plain">
        {zones.map((zone) => (
          <li key={zone.name}>
            {t("zone-data.zone", { name: zone.name, now: zone.now, before: zone.before })}{" "}
            {dayText(zone.from.slice(0, 10), language, "short")}
          </li>
        ))}
      </ul>
      <p>{t("zone-data.moved-in", { rings, schedules })}</p>
      {first.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        <section className="scroll" tabIndex={0} aria-label={t("zone-data.first")}>
          <table className="numbers">
            <caption>{t("zone-data.first")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("zone-data.schedule")}</th>
                <th scope="col">{t("zone-data.local")}</th>
                <th scope="col">{t("zone-data.before")}</th>
                <th scope="col">{t("zone-data.now")}</th>
              </tr>
            </thead>
            <tbody>
              {first.map((ring) => (
                <tr key={`${ring.scheduleId} ${ring.localDate} ${ring.localTime} ${ring.before}`}>
                  <td>{ring.schedule}</td>
                  <td>
                    {dayText(ring.localDate, language, "short")}, {shortTime(ring.localTime)} ({ring.zone})
                  </td>
                  <td>{localTimeText(ring.before, language, "medium")}</td>
                  <td>{ring.now === null ? t("zone-data.gone") : localTimeText(ring.now, language, "medium")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}
