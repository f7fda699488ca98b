import type { OverlapRow } from "../../api/bell-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { dayText, shortTime } from "./calendar-dates.ts";
import { useScheduleNames, useTemplateNames } from "./use-bells.ts";

const SHOWN = 5;

interface OverlapsProps {
  count: number;
  overlaps: readonly OverlapRow[];
  /** The pairs are shown without being asked for. */
  isOpen?: boolean;
}

/** Warns of rings that come at one instant on the same devices; nothing where there are none. */
export function Overlaps({ count, overlaps, isOpen = false }: OverlapsProps) {
  const { t, language } = useTranslation();
  const shown = overlaps.slice(0, SHOWN);
  const templates = useTemplateNames(shown.flatMap((each) => [each.messageTemplateId, each.other.messageTemplateId]));
  const schedules = useScheduleNames(shown.map(({ other }) => other.bellScheduleId));
  if (count === 0) return null;
  return (
    <details className="overlap" {...(isOpen ? { open: true } : {})}>
      <summary>
        <span aria-hidden="true">! </span>
        <strong>{t("overlap.count", { count: count })}</strong> {t("overlap.intro")}
      </summary>
      <ul>
        {shown.map((each) => (
          <li key={`${each.at} ${each.entryId} ${each.other.entryId}`}>
            {dayText(each.localDate, language, "column")}, {shortTime(each.localTime)}:{" "}
            {t("overlap.pair", {
              one: templates.get(each.messageTemplateId) ?? "",
              other: templates.get(each.other.messageTemplateId) ?? "",
              schedule: schedules.get(each.other.bellScheduleId) ?? "",
            })}{" "}
            <small>{t("overlap.devices", { count: each.devices })}</small>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The warnings of a schedule for the next seven days. */
export function ScheduleOverlaps({ bellScheduleId }: { bellScheduleId: string }) {
  const { t } = useTranslation();
  const found = useRows<OverlapRow>("bell-schedules/{bellScheduleId}/overlaps", { bellScheduleId });
  return (
    <section className="stack">
      <ErrorLine error={found.error} />
      {found.data?.total === 0 && <p className="soft">{t("overlap.none")}</p>}
      {found.data && <Overlaps count={found.data.total} overlaps={found.data.data} isOpen />}
    </section>
  );
}
