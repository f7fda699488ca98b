import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { BellScheduleRow } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { dayText, shortTime } from "./calendar-dates.ts";
import { ringListChangeText } from "./day-change-text.ts";
import { DayChanges } from "./day-changes.tsx";
import { RingStateChip } from "./ring-state.tsx";
import { useRings, useTemplateNames } from "./use-bells.ts";
import type { ScheduleRing } from "./week-layout.ts";
import { dayMarkerOf } from "./year-markers.ts";

interface DaySheetProps {
  day: string;
  schedules: readonly BellScheduleRow[];
  onChange(): void;
  onClose(): void;
}

/** One day: its changes, its rings, and how to change it. */
export function DaySheet({ day, schedules, onChange, onClose }: DaySheetProps) {
  const { t, language } = useTranslation();
  const rings = useRings(schedules, day, day);
  const names = useTemplateNames(rings.rings.map(({ messageTemplateId }) => messageTemplateId));
  return (
    <SideSheet title={dayText(day, language, "long")} onClose={onClose}>
      <div className="stack">
        <div>
          <Button onClick={onChange} data-autofocus>
            {t("day-change.this-day")}
          </Button>
        </div>
        <DayChanges first={day} last={day} />
        <ErrorLine error={rings.error} />
        {schedules.map((schedule) => (
          <ScheduleDay
            key={schedule.id}
            day={day}
            schedule={schedule}
            rings={rings.rings.filter(({ bellScheduleId }) => bellScheduleId === schedule.id)}
            names={names}
          />
        ))}
      </div>
    </SideSheet>
  );
}

interface ScheduleDayProps {
  day: string;
  schedule: BellScheduleRow;
  rings: readonly ScheduleRing[];
  names: ReadonlyMap<string, string>;
}

function ScheduleDay({ day, schedule, rings, names }: ScheduleDayProps) {
  const translator = useTranslation();
  const { t, name } = translator;
  const { mark, exception } = dayMarkerOf(schedule, day);
  const why = [
    name("day-mark", mark),
    exception?.ringListName,
    ...(exception?.ringListChanges.map((change) => ringListChangeText(change, translator)) ?? []),
    exception?.description,
  ].filter(Boolean);
  return (
    <section className="stack tight">
      <h3>
        <Link to="/bell-schedules" search={{ open: schedule.id }}>
          {schedule.name}
        </Link>
      </h3>
      <p className="soft">{why.join(" · ")}</p>
      {rings.length === 0 && mark !== "no-bells" && <p className="soft">{t("bells.no-rings")}</p>}
      <ul className="plain day-rings">
        {rings.map((ring) => (
          <li key={ring.id} className="row">
            <strong>{shortTime(ring.localTime)}</strong>
            <span className="grow">{names.get(ring.messageTemplateId ?? "") ?? ""}</span>
            <RingStateChip ring={ring} />
            {ring.playedAlone ? (
              <small className="soft">{t("ring.played-alone", { count: ring.playedAlone })}</small>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
