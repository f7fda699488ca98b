import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { dayText, shortTime } from "./calendar-dates.ts";
import { RingStateIcon } from "./ring-state.tsx";
import { type DisplayedRingState, ringTone } from "./ring-tones.ts";
import {
  BLOCK_PX,
  blockPositions,
  type CalendarBlock,
  HOUR_PX,
  type HourRange,
  hourRangeOf,
  shiftTime,
} from "./week-layout.ts";

interface WeekCalendarProps {
  /** Monday first, `YYYY-MM-DD`. */
  days: readonly string[];
  today: string;
  blocks: readonly CalendarBlock[];
  /** The next rings are those at this instant, epoch ms; null where none is to come. */
  nextAt: number | null;
  nameOf(block: CalendarBlock): string;
  /** What is said of a day beside its rings, such as a day change. */
  noteOf(day: string): string | null;
  mayMove(block: CalendarBlock): boolean;
  /** `to`: the time to which it was dragged; null where it was only opened. */
  onOpen(block: CalendarBlock, to: string | null): void;
  onDay(day: string): void;
}

/** The rings of a week: days side by side with hours down the side, below each other on a phone. */
export function WeekCalendar({ days, blocks, ...given }: WeekCalendarProps) {
  const { t } = useTranslation();
  const hours = hourRangeOf(blocks);
  const style = {
    "--hours": hours.end - hours.first,
    "--hour": `${HOUR_PX}px`,
    "--block": `${BLOCK_PX - 2}px`,
  } as CSSProperties;
  return (
    <section className="week" aria-label={t("bells.week")} style={style}>
      <div className="week-hours" aria-hidden="true">
        {labelsOf(hours).map((label) => (
          <span key={label}>{label}</span>
        ))}
      </div>
      {days.map((day) => (
        <WeekDay
          key={day}
          day={day}
          hours={hours}
          blocks={blocks.filter(({ localDate }) => localDate === day)}
          {...given}
        />
      ))}
    </section>
  );
}

function labelsOf({ first, end }: HourRange): string[] {
  return Array.from({ length: end - first }, (_, at) => `${String(first + at).padStart(2, "0")}:00`);
}

type WeekDayProps = Omit<WeekCalendarProps, "days"> & { day: string; hours: HourRange };

function WeekDay({ day, today, blocks, hours, noteOf, onDay, ...given }: WeekDayProps) {
  const { t, language } = useTranslation();
  const places = blockPositions(blocks, hours);
  const note = noteOf(day);
  const words = dayText(day, language, "column");
  return (
    <section className="week-day" data-today={day === today} aria-label={dayText(day, language, "long")}>
      <div className="week-head">
        <button
          type="button"
          className="open"
          aria-label={t("bells.open-day", { day: dayText(day, language, "long") })}
          onClick={() => onDay(day)}
        >
          {words}
        </button>
        {day === today && <span className="chip">{t("bells.today")}</span>}
        {note && <span className="chip warn">{note}</span>}
      </div>
      {blocks.length === 0 && <p className="soft week-none">{t("bells.no-rings")}</p>}
      <ul className="week-rings">
        {blocks.map((block, at) => (
          <li key={block.key} style={{ top: places[at] }}>
            <RingBlock block={block} {...given} />
          </li>
        ))}
      </ul>
    </section>
  );
}

type RingBlockProps = Pick<WeekCalendarProps, "nextAt" | "nameOf" | "mayMove" | "onOpen"> & { block: CalendarBlock };

/** A ring: opened by a click, moved by dragging it or by Alt and the arrow keys. */
function RingBlock({ block, nextAt, nameOf, mayMove, onOpen }: RingBlockProps) {
  const { t, name } = useTranslation();
  const state = shownState(block, nextAt);
  const drag = useDrag(mayMove(block), (minutes) =>
    onOpen(block, minutes === 0 ? null : shiftTime(block.localTime, minutes)),
  );
  const what = nameOf(block);
  const many = block.rings.length > 1 ? t("bells.schedules", { count: block.rings.length }) : "";
  const reached = [...new Set(block.rings.flatMap(({ verdict }) => (verdict ? [name("verdict", verdict)] : [])))];
  const time = drag.minutes === 0 ? block.localTime : shiftTime(block.localTime, drag.minutes);
  return (
    <button
      type="button"
      className={`ring-block ${ringTone(state, block.rings)}`}
      data-state={state}
      data-dragged={drag.minutes !== 0}
      {...(drag.minutes === 0 ? {} : { style: { translate: `0 ${drag.offset}px` } })}
      aria-label={[shortTime(time), what, name("ring-state", state), ...reached, many].filter(Boolean).join(", ")}
      title={[shortTime(time), what, name("ring-state", state), ...reached, many].filter(Boolean).join(" · ")}
      {...(mayMove(block) ? { "aria-keyshortcuts": "Alt+ArrowUp Alt+ArrowDown" } : {})}
      {...drag.handlers}
    >
      <RingStateIcon state={state} />
      <strong>{shortTime(time)}</strong>
      <span className="ring-name">{what}</span>
      {block.rings.length > 1 && <small>{`×${block.rings.length}`}</small>}
    </button>
  );
}

function shownState({ state, rings }: CalendarBlock, nextAt: number | null): DisplayedRingState {
  const isAhead = state === "planned" || state === "prepared" || state === "armed";
  return isAhead && rings.some(({ at }) => Date.parse(at) === nextAt) ? "next" : state;
}

const STEP_MIN = 5;

/** Follows a pointer up and down in steps of five minutes; `onEnd` receives the distance, 0 for a click. */
function useDrag(mayMove: boolean, onEnd: (minutes: number) => void) {
  const from = useRef<number | null>(null);
  const ended = useRef(false);
  const [offset, setOffset] = useState(0);
  const minutes = Math.round(((offset / HOUR_PX) * 60) / STEP_MIN) * STEP_MIN;
  const handlers = {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      // A finger scrolls; it opens the ring and moves it there.
      if (!mayMove || event.pointerType === "touch" || event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      from.current = event.clientY;
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      if (from.current !== null) setOffset(event.clientY - from.current);
    },
    onPointerUp() {
      if (from.current === null) return;
      from.current = null;
      setOffset(0);
      ended.current = minutes !== 0;
      if (minutes !== 0) onEnd(minutes);
    },
    onPointerCancel() {
      from.current = null;
      setOffset(0);
    },
    onClick() {
      // The browser makes a click of the end of a drag.
      if (!ended.current) onEnd(0);
      ended.current = false;
    },
    onKeyDown(event: KeyboardEvent<HTMLElement>) {
      const way = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
      if (!mayMove || !event.altKey || way === 0) return;
      event.preventDefault();
      onEnd(way * STEP_MIN);
    },
  };
  return { minutes, offset, handlers };
}
