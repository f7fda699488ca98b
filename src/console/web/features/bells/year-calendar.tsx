import { type KeyboardEvent, useRef, useState } from "react";
import { addDays } from "../../../../bells/date-span.ts";
import { parseDayNumber } from "../../../../bells/local-time.ts";
import type { BellScheduleRow } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { daysOfMonth, dayText, monthsFrom, monthText, weekdayNames, weekOf } from "./calendar-dates.ts";
import { combinedDayMarker, type DayMarker } from "./year-markers.ts";

/** Shape of each day marker, in addition to its colour. */
const SIGNS: Readonly<Record<DayMarker, string>> = {
  outside: "",
  silent: "",
  rings: "·",
  otherwise: "◆",
  changed: "▲",
  "no-bells": "✕",
};
const LEGEND: readonly DayMarker[] = ["rings", "otherwise", "changed", "no-bells", "silent"];

interface YearCalendarProps {
  /** The first month holds this day. */
  from: string;
  today: string;
  schedules: readonly BellScheduleRow[];
  onDay(day: string): void;
}

/** Twelve months with markers on changed days. Arrow keys move between days. */
export function YearCalendar({ from, today, schedules, onDay }: YearCalendarProps) {
  const { t, name } = useTranslation();
  const place = useRef<HTMLElement>(null);
  const months = monthsFrom(from);
  const [first, end] = [`${months[0]}-01`, `${months[11]}-31`];
  const [at, setAt] = useState<string | null>(null);
  const focused = at && first <= at && at <= end ? at : first <= today && today <= end ? today : first;
  const onKeyDown = (event: KeyboardEvent) => {
    const steps = STEPS[event.key];
    if (steps === undefined) return;
    const next = addDays(focused, steps);
    if (next < first || next > end) return;
    event.preventDefault();
    setAt(next);
    place.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus();
  };
  return (
    <section className="year" ref={place} aria-label={t("bells.year")}>
      <ul className="plain year-legend">
        {LEGEND.map((mark) => (
          <li key={mark}>
            <span className={`year-day ${mark}`} aria-hidden="true">
              {SIGNS[mark]}
            </span>{" "}
            {name("day-mark", mark)}
          </li>
        ))}
      </ul>
      <div className="year-months">
        {months.map((month) => (
          <Month key={month} {...{ month, today, schedules, focused, onKeyDown, onDay }} onFocus={setAt} />
        ))}
      </div>
    </section>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

interface MonthProps extends Omit<YearCalendarProps, "from"> {
  month: string;
  /** The one day that the tab key stops at. */
  focused: string;
  onKeyDown(event: KeyboardEvent): void;
  onFocus(day: string): void;
}

function Month({ month, today, schedules, focused, onKeyDown, onFocus, onDay }: MonthProps) {
  const { language, name } = useTranslation();
  const days = daysOfMonth(month);
  const title = monthText(month, language);
  return (
    <section className="year-month" aria-label={title}>
      <h2>{title}</h2>
      <div className="year-grid">
        {weekdayNames(language, "narrow").map((letter, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: letters come twice, places don't
          <span key={at} className="soft" aria-hidden="true">
            {letter}
          </span>
        ))}
        {days.map((day, at) => {
          const { mark, why } = combinedDayMarker(schedules, day);
          const words = `${dayText(day, language, "long")}: ${name("day-mark", mark)}`;
          const label = why ? `${words}, ${why}` : words;
          return (
            <button
              key={day}
              type="button"
              className={`year-day ${mark}`}
              data-day={day}
              data-today={day === today}
              {...(day === today ? { "aria-current": "date" as const } : {})}
              {...(at === 0 ? { style: { gridColumnStart: columnOf(day) } } : {})}
              aria-label={label}
              title={label}
              tabIndex={day === focused ? 0 : -1}
              onKeyDown={onKeyDown}
              onFocus={() => onFocus(day)}
              onClick={() => onDay(day)}
            >
              {Number(day.slice(8))}
              <span className="year-sign" aria-hidden="true">
                {SIGNS[mark]}
              </span>
            </button>
          );
        })}
      </div>
    </section>
  );
}

/** 1 for a Monday. */
function columnOf(day: string): number {
  return parseDayNumber(day) - parseDayNumber(weekOf(day)[0] ?? day) + 1;
}
