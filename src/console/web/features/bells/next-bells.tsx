import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { UpcomingRingRow } from "../../api/bell-rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

const SHOWN = 5;
/** Many schools ring at once: so many rings hold the next five moments of most organisations. */
const READ = 200;
/** How often the list is read again beside what the live feed tells. */
const POLL_INTERVAL_MS = 60_000;

/** Rings of one message at one moment. */
interface Moment {
  key: string;
  at: number;
  time: string;
  name: string;
  schedules: string[];
}

function momentsOf(rings: readonly UpcomingRingRow[], now: number): Moment[] {
  const moments = new Map<string, Moment>();
  for (const { at, localTime, messageTemplateId, messageTemplate, bellSchedule } of rings) {
    const key = `${at} ${messageTemplateId}`;
    const known = moments.get(key);
    if (known) known.schedules.push(bellSchedule.name);
    else {
      const time = localTime.endsWith(":00") ? localTime.slice(0, 5) : localTime;
      moments.set(key, {
        key,
        at: Date.parse(at),
        time,
        name: messageTemplate?.name ?? "",
        schedules: [bellSchedule.name],
      });
    }
  }
  return [...moments.values()].filter(({ at }) => at > now).slice(0, SHOWN);
}

/** The next bells of all schedules, each with the time that is left. */
export default function NextBells() {
  const { t } = useTranslation();
  const now = useNow();
  const { clock, feed } = useConsole();
  const found = useRow<{ data: UpcomingRingRow[] }>("bell-rings", {}, { limit: READ });
  const { refetch } = found;
  useEffect(() => {
    const reading = clock.every(POLL_INTERVAL_MS, () => feed.live && void refetch());
    return () => reading.cancel();
  }, [clock, feed.live, refetch]);
  const moments = momentsOf(found.data?.data ?? [], now);
  const isEmpty = found.data !== undefined && moments.length === 0;
  // A user who cannot see any schedule receives no rings, although there may be some.
  const schedules = useRows("bell-schedules", {}, { limit: 1 }, { enabled: isEmpty });
  return (
    <section className="card">
      <h2>
        <Link to="/bells">{t("next.title")}</Link>
      </h2>
      <ErrorLine error={found.error ?? schedules.error} />
      {isEmpty && schedules.data && <p className="soft">{t("next.none")}</p>}
      <ul className="plain">
        {moments.map(({ key, at, time, name, schedules }) => (
          <li key={key} className="row">
            <strong>{time}</strong>
            <span>{name}</span>
            <small className="soft" title={schedules.join(", ")}>
              {schedules.length === 1 ? schedules[0] : t("next.schedules", { count: schedules.length })}
            </small>
            <span className="space" />
            <span className="countdown">{t("next.in", { left: elapsedText(at - now) })}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
