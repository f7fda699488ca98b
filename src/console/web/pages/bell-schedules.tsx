import { Link } from "@tanstack/react-router";
import type { BellScheduleRow, DryRund } from "../api/bell-rows.ts";
import { CycleEditor } from "../bells/cycle-editor.tsx";
import { spanWords } from "../bells/day-change-words.ts";
import { dayIn } from "../bells/day-names.ts";
import { Difference } from "../bells/difference.tsx";
import { ExceptionsEditor } from "../bells/exceptions-editor.tsx";
import { Feeds } from "../bells/feeds.tsx";
import { FIRST, FirstBells, FirstSteps } from "../bells/first-bells.tsx";
import { HolidayImport } from "../bells/holiday-import.tsx";
import { ScheduleOverlaps } from "../bells/overlaps.tsx";
import { useSiteZone } from "../bells/use-bells.ts";
import { useRingDifference } from "../bells/use-difference.ts";
import { useConsole } from "../console-context.tsx";
import { ListPage } from "../list/list-page.tsx";
import { CloneButton } from "../parts/clone-button.tsx";
import type { OwnField } from "../parts/form-fields.ts";
import { NEW, RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import "../bells/bells.css";
import "../parts/lines.css";

const ROUTE = "bell-schedules/{bellScheduleId}";

/** Which kind of day is rung when. */
export default function BellSchedulesPage() {
  const { t, language } = useWords();
  return (
    <ListPage<BellScheduleRow>
      tabs="bells"
      title={t("schedules.title")}
      add={t("schedules.add")}
      none={
        <>
          <p>{t("schedules.none")}</p>
          <FirstSteps />
        </>
      }
      route="bell-schedules"
      columns={[
        { id: "span", head: t("schedules.days"), width: "2fr", cell: (row) => spanWords(row, language, "short") },
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
        id === FIRST ? (
          <FirstBells onClose={onClose} />
        ) : (
          <ScheduleSheet key={id} bellScheduleId={id} onClose={onClose} />
        )
      }
    />
  );
}

function ScheduleLinks({ id }: { id: string }) {
  const { t } = useWords();
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
  const { t, name } = useWords();
  const zone = useSiteZone();
  const today = dayIn(zone, useConsole().clock.now());
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
              <Feeds bellScheduleId={bellScheduleId} />
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

function ScheduleDifference({ bellScheduleId, values }: OwnField & { bellScheduleId: string }) {
  const { t } = useWords();
  const { client } = useConsole();
  const isNew = bellScheduleId === NEW;
  const given = Object.fromEntries(MEMBERS.map((member) => [member, values[member] ?? null]));
  const isComplete = !isNew || (Boolean(values.name) && Boolean(given.startDate) && Boolean(given.endDate));
  const body = isComplete ? { ...given, ...(isNew ? { name: values.name } : {}) } : null;
  const found = useRingDifference(body, (asked, query) =>
    isNew
      ? client.post<DryRund>("bell-schedules", {}, asked, {}, query)
      : client.put<DryRund>(ROUTE, { bellScheduleId }, asked, query),
  );
  return found ? <Difference {...found} before={t("difference.counting")} ofMany={false} /> : null;
}
