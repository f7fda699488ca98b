import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { BellScheduleRow } from "../../api/bell-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { dayWords, shortTime } from "./calendar-dates.ts";
import { ringListChangeWords } from "./day-change-text.ts";
import { DayChanges } from "./day-changes.tsx";
import { RingStateChip } from "./ring-state.tsx";
import { useRings, useTemplateNames } from "./use-bells.ts";
import type { ScheduleRing } from "./week-layout.ts";
import { markOf } from "./year-markers.ts";

interface DaySheetProps {
  day: string;
  schedules: readonly BellScheduleRow[];
  onChange(): void;
  onClose(): void;
}

/** One day: what is otherwise on it, what rings, and the way to change it. */
export function DaySheet({ day, schedules, onChange, onClose }: DaySheetProps) {
  const { t, language } = useWords();
  const rings = useRings(schedules, day, day);
  const names = useTemplateNames(rings.rings.map(({ messageTemplateId }) => messageTemplateId));
  return (
    <SideSheet title={dayWords(day, language, "long")} onClose={onClose}>
      <div className="stack">
        <div>
          <Button onClick={onChange} data-autofocus>
            {t("change.this-day")}
          </Button>
        </div>
        <DayChanges first={day} last={day} />
        <FaultLine error={rings.error} />
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
  const words = useWords();
  const { t, name } = words;
  const { mark, exception } = markOf(schedule, day);
  const why = [
    name("day-mark", mark),
    exception?.ringListName,
    ...(exception?.ringListChanges.map((change) => ringListChangeWords(change, words)) ?? []),
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
            <RingStateChip state={ring.state} />
            {ring.playedAlone ? (
              <small className="soft">{t("ring.played-alone", { n: ring.playedAlone })}</small>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
