import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { addDays } from "../../../../bells/date-span.ts";
import type { BellScheduleRow } from "../../api/bell-rows.ts";
import { useSiteClock } from "../../api/use-rows.ts";
import { useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowsSelect } from "../../ui/form/rows-select.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { useHistorySheet } from "../../ui/use-history-sheet.ts";
import { dayText, monthsFrom, monthText, weekOf } from "./calendar-dates.ts";
import { DayChangeSheet } from "./day-change-sheet.tsx";
import { DayChanges } from "./day-changes.tsx";
import { DaySheet } from "./day-sheet.tsx";
import { RingSheet } from "./ring-sheet.tsx";
import { FirstSchedule } from "./starter-schedule.tsx";
import {
  MAX_VISIBLE_SCHEDULES,
  useRingLists,
  useRings,
  useSelectedScheduleIds,
  useTemplateNames,
  useVisibleSchedules,
} from "./use-bells.ts";
import { WeekCalendar } from "./week-calendar.tsx";
import { blocksOf, type CalendarBlock, nextInstantOf } from "./week-layout.ts";
import { YearCalendar } from "./year-calendar.tsx";
import { combinedDayMarker } from "./year-markers.ts";
import "../../ui/list/list.css";
import "./bells.css";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** Calendar of rings, by week or year, of all schedules or some; changes days. */
export default function BellsPage() {
  const { t } = useTranslation();
  const [{ view = "week", since, open, day }, show] = useTableSearch();
  const [ids, choose] = useSelectedScheduleIds();
  const drawn = useVisibleSchedules();
  const today = useSiteClock().dayAt(useNow());
  const from = since ?? (view === "year" ? yearStart(drawn.schedules, today) : today);
  const close = () => show({ open: undefined, day: undefined });
  const changeDay = (chosen: string) => show({ open: "change", day: chosen });
  const openDay = (chosen: string) => show({ open: "day", day: chosen });
  const shared = { schedules: drawn.schedules, today, from, onDay: openDay };
  return (
    <div className="page bells">
      <SectionTabs of="bells" />
      <div className="head">
        <PageTitle>{t("bells.title")}</PageTitle>
        <span className="space" />
        <Button onClick={() => changeDay(today)}>{t("day-change.title")}</Button>
      </div>
      <div className="row bells-tools">
        <SegmentedChoice
          label={t("bells.view")}
          value={view === "year" ? "year" : "week"}
          choices={[
            { value: "week", label: t("bells.week") },
            { value: "year", label: t("bells.year") },
          ]}
          onChange={(next) => show({ view: next === "week" ? undefined : next, since: undefined })}
        />
        <Steps from={from} view={view} onShow={(next) => show({ since: next })} />
        <RowsSelect
          label={t("bells.schedules-shown")}
          placeholder={t("bells.all-schedules")}
          route="bell-schedules"
          value={ids}
          onChange={choose}
        />
      </div>
      <ErrorLine error={drawn.error} />
      {drawn.data && drawn.total === 0 && <NoSchedules />}
      {drawn.total > MAX_VISIBLE_SCHEDULES && (
        <p className="soft">{t("bells.too-many", { count: drawn.total, most: MAX_VISIBLE_SCHEDULES })}</p>
      )}
      {view === "year" ? <Year {...shared} /> : <Week {...shared} />}
      {open === "change" && <DayChangeSheet day={day ?? today} bellScheduleIds={ids} onClose={close} />}
      {open === "day" && day && (
        <DaySheet day={day} schedules={drawn.schedules} onChange={() => changeDay(day)} onClose={close} />
      )}
    </div>
  );
}

function NoSchedules() {
  const { t } = useTranslation();
  return (
    <div className="row">
      <span>{t("bells.none")}</span>
      <Link to="/bell-schedules">{t("bells.go-to-schedules")}</Link>
      <FirstSchedule />
    </div>
  );
}

/** A year is shown from where the schedules begin, when that is less than a year ago. */
function yearStart(schedules: readonly BellScheduleRow[], today: string): string {
  const begun = schedules
    .map(({ startDate }) => startDate)
    .filter((first) => first <= today && addDays(first, 360) > today);
  return begun.length === 0
    ? `${today.slice(0, 4)}-01-01`
    : begun.reduce((least, first) => (first < least ? first : least));
}

interface StepsProps {
  from: string;
  view: string;
  onShow(since: string | undefined): void;
}

function Steps({ from, view, onShow }: StepsProps) {
  const { t, language } = useTranslation();
  const days = view === "year" ? 365 : 7;
  const week = weekOf(from);
  const months = monthsFrom(from);
  const words =
    view === "year"
      ? `${monthText(months[0] ?? "", language)} – ${monthText(months[11] ?? "", language)}`
      : `${dayText(week[0] ?? from, language, "column")} – ${dayText(week[6] ?? from, language, "short")}`;
  return (
    <div className="row steps">
      <Button variant="default" aria-label={t("bells.earlier")} onClick={() => onShow(addDays(from, -days))}>
        {"‹"}
      </Button>
      <span aria-live="polite">{words}</span>
      <Button variant="default" aria-label={t("bells.later")} onClick={() => onShow(addDays(from, days))}>
        {"›"}
      </Button>
      <Button variant="default" onClick={() => onShow(undefined)}>
        {t("bells.today")}
      </Button>
    </div>
  );
}

interface ViewProps {
  schedules: readonly BellScheduleRow[];
  today: string;
  from: string;
  onDay(day: string): void;
}

function Year({ from, today, schedules, onDay }: ViewProps) {
  const months = monthsFrom(from);
  return (
    <>
      <YearCalendar from={from} today={today} schedules={schedules} onDay={onDay} />
      <DayChanges first={`${months[0]}-01`} last={`${months[11]}-31`} />
    </>
  );
}

function Week({ from, today, schedules, onDay }: ViewProps) {
  const { t, name } = useTranslation();
  const now = useNow();
  const days = weekOf(from);
  const [first = from, last = from] = [days[0], days[6]];
  const found = useRings(schedules, first, last);
  const blocks = blocksOf(found.rings);
  const names = useTemplateNames(blocks.map(({ messageTemplateId }) => messageTemplateId));
  const lists = useRingLists();
  const sheet = useHistorySheet<{ block: CalendarBlock; to: string | null }>();
  const listOf = ({ ringListId }: CalendarBlock) => lists.data?.data.find(({ id }) => id === ringListId) ?? null;
  const nameOf = ({ messageTemplateId }: CalendarBlock) => names.get(messageTemplateId ?? "") ?? "";
  const noteOf = (day: string) => {
    const { mark, why } = combinedDayMarker(schedules, day);
    if (mark === "changed" || mark === "no-bells" || mark === "otherwise") return why ?? name("day-mark", mark);
    return null;
  };
  return (
    <>
      <ErrorLine error={found.error ?? lists.error} />
      {found.isPartial && <p className="soft">{t("bells.partial")}</p>}
      <WeekCalendar
        {...{ days, today, blocks, nameOf, noteOf, onDay }}
        nextAt={first > today ? null : nextInstantOf(found.rings, now)}
        mayMove={(block) => listOf(block)?.permissions.includes("put") ?? false}
        onOpen={(block, to) => sheet.open({ block, to })}
      />
      <p className="soft bells-hint">{t("bells.move-hint")}</p>
      <DayChanges first={first} last={last} />
      {sheet.opened && (
        <RingSheet
          {...sheet.opened}
          name={nameOf(sheet.opened.block)}
          list={listOf(sheet.opened.block)}
          scheduleNames={new Map(schedules.map((schedule) => [schedule.id, schedule.name]))}
          onClose={sheet.close}
        />
      )}
    </>
  );
}
