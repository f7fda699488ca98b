import { Link } from "@tanstack/react-router";
import type { BellScheduleRow, DryRunResult } from "../../api/bell-rows.ts";
import { useSiteClock } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CloneButton } from "../../ui/clone-button.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { CalendarFeeds } from "./calendar-feeds.tsx";
import { CycleEditor } from "./cycle-editor.tsx";
import { dateRangeText } from "./day-change-text.ts";
import { ExceptionsEditor } from "./exceptions-editor.tsx";
import { HolidayImport } from "./holiday-import.tsx";
import { ScheduleOverlaps } from "./overlaps.tsx";
import { RingDiff } from "./ring-diff.tsx";
import { FirstSchedule, STARTER, StarterSchedule } from "./starter-schedule.tsx";
import { useRingDiff } from "./use-ring-diff.ts";
import "./bells.css";
import "../../ui/lines.css";

const ROUTE = "bell-schedules/{bellScheduleId}";

/** Which kind of day is rung when. */
export default function BellSchedulesPage() {
  const { t, language } = useTranslation();
  return (
    <ListPage<BellScheduleRow>
      tabs="bells"
      title={t("schedules.title")}
      add={t("schedules.add")}
      none={
        <>
          <p>{t("schedules.none")}</p>
          <FirstSchedule />
        </>
      }
      route="bell-schedules"
      columns={[
        { id: "span", head: t("schedules.days"), width: "2fr", cell: (row) => dateRangeText(row, language, "short") },
        { id: "weeks", head: t("field.numWeeks"), width: "7rem", cell: (row) => String(row.numWeeks) },
        {
          id: "zone",
          head: t("field.timeZone"),
          width: "1fr",
          side: true,
          cell: (row) => row.timeZone ?? t("schedules.site-zone"),
        },
        { id: "more", head: t("schedules.shown"), width: "10rem", cell: (row) => <ScheduleLinks id={row.id} /> },
      ]}
      sheet={(id, onClose) =>
        id === STARTER ? (
          <StarterSchedule onClose={onClose} />
        ) : (
          <ScheduleSheet key={id} bellScheduleId={id} onClose={onClose} />
        )
      }
    />
  );
}

function ScheduleLinks({ id }: { id: string }) {
  const { t } = useTranslation();
  return (
    <span className="row tight">
      <Link to="/bells" search={{ schedules: id }}>
        {t("bells.title")}
      </Link>
      <Link to="/bell-print" search={{ schedules: id }}>
        {t("print.title")}
      </Link>
    </span>
  );
}

function ScheduleSheet({ bellScheduleId, onClose }: { bellScheduleId: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const { timeZone: zone, dayAt } = useSiteClock();
  const today = dayAt(useConsole().clock.now());
  return (
    <RowSheet
      id={bellScheduleId}
      item={ROUTE}
      newTitle={t("schedules.add")}
      initial={{
        numWeeks: 1,
        rotation: "calendar",
        startDate: today,
        bellScheduleEntries: [],
        bellScheduleExceptions: [],
      }}
      wide
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "description", label: t("bells.what-for") },
        { name: "timeZone", hint: t("schedules.zone-hint", { zone }) },
        { name: "startDate", label: t("schedules.first-day") },
        { name: "endDate", label: t("schedules.last-day") },
        { name: "numWeeks", hint: t("schedules.weeks-hint") },
        {
          name: "rotation",
          hint: t("schedules.rotation-hint"),
          choices: ["calendar", "school-day"].map((value) => ({ value, label: name("rotation", value) })),
        },
        { name: "isShared", hint: t("lists.shared-hint") },
        { name: "bellScheduleEntries", kind: "own", draw: (given) => <CycleEditor key="cycle" {...given} /> },
        {
          name: "bellScheduleExceptions",
          kind: "own",
          draw: (given) => <ExceptionsEditor key="exceptions" {...given} />,
        },
        {
          name: "difference",
          kind: "own",
          draw: (given) => <ScheduleDifference key="difference" bellScheduleId={bellScheduleId} {...given} />,
        },
      ]}
      tabs={[
        { id: "overlaps", label: t("overlap.title"), content: <ScheduleOverlaps bellScheduleId={bellScheduleId} /> },
        {
          id: "calendars",
          label: t("calendar.title"),
          content: (
            <div className="stack">
              <CalendarFeeds bellScheduleId={bellScheduleId} />
              <HolidayImport bellScheduleId={bellScheduleId} />
            </div>
          ),
        },
      ]}
    >
      <div className="row">
        <CloneButton route="bell-schedules/{bellScheduleId}/clone" params={{ bellScheduleId }} />
        <Link to="/bell-print" search={{ schedules: bellScheduleId }}>
          {t("print.title")}
        </Link>
      </div>
    </RowSheet>
  );
}

const MEMBERS = [
  "timeZone",
  "startDate",
  "endDate",
  "numWeeks",
  "rotation",
  "bellScheduleEntries",
  "bellScheduleExceptions",
];

function ScheduleDifference({ bellScheduleId, values }: CustomFieldProps & { bellScheduleId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const isNew = bellScheduleId === NEW;
  const given = Object.fromEntries(MEMBERS.map((member) => [member, values[member] ?? null]));
  const isComplete = !isNew || (Boolean(values.name) && Boolean(given.startDate) && Boolean(given.endDate));
  const body = isComplete ? { ...given, ...(isNew ? { name: values.name } : {}) } : null;
  const found = useRingDiff(body, (asked, query) =>
    isNew
      ? client.post<DryRunResult>("bell-schedules", {}, asked, {}, query)
      : client.put<DryRunResult>(ROUTE, { bellScheduleId }, asked, query),
  );
  return found ? <RingDiff {...found} before={t("ring-diff.counting")} ofMany={false} /> : null;
}
