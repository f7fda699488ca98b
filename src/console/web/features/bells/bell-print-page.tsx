import { Button } from "@mantine/core";
import type { BellScheduleRow, RingListRow } from "../../api/bell-rows.ts";
import { useRows, useSiteClock } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowsSelect } from "../../ui/form/rows-select.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { dayText, shortTime, weekdayNames } from "./calendar-dates.ts";
import { type CycleDayType, cycleDayTypes } from "./cycle-day-types.ts";
import { dateRangeText } from "./day-change-text.ts";
import { useSelectedScheduleIds, useVisibleSchedules } from "./use-bells.ts";
import "./bells.css";
import "./print.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** Bell sheets for the wall of a classroom, one page each. */
export default function BellPrintPage() {
  const { t } = useTranslation();
  const [ids, choose] = useSelectedScheduleIds();
  const drawn = useVisibleSchedules();
  return (
    <div className="page bells">
      <SectionTabs of="bells" />
      <div className="head">
        <PageTitle>{t("print.title")}</PageTitle>
        <span className="space" />
        <Button disabled={drawn.schedules.length === 0} onClick={() => window.print()}>
          {t("print.print")}
        </Button>
      </div>
      <RowsSelect
        label={t("bells.schedules-shown")}
        placeholder={t("bells.all-schedules")}
        route="bell-schedules"
        value={ids}
        onChange={choose}
      />
      <ErrorLine error={drawn.error} />
      {drawn.data && drawn.total === 0 && <p>{t("bells.none")}</p>}
      {drawn.schedules.map((schedule) => (
        <Sheet key={schedule.id} schedule={schedule} />
      ))}
    </div>
  );
}

function Sheet({ schedule }: { schedule: BellScheduleRow }) {
  const { t, language } = useTranslation();
  const site = useSiteClock();
  const { clock } = useConsole();
  const kinds = cycleDayTypes(schedule);
  const ids = kinds.map(({ ringListId }) => ringListId);
  const lists = useRows<RingListRow>("ring-lists", {}, { ids, limit: 1_000 }, { enabled: ids.length > 0 });
  const listOf = (id: string) => lists.data?.data.find((row) => row.id === id);
  return (
    <article className="card bell-print">
      <h2>{schedule.name}</h2>
      <p>
        {t("print.zone", { zone: schedule.timeZone ?? site.timeZone })} · {dateRangeText(schedule, language, "short")}
      </p>
      <ErrorLine error={lists.error} />
      {kinds.length === 0 && <p>{t("print.nothing")}</p>}
      <div className="print-kinds">
        {kinds.map((kind) => (
          <Kind key={kind.ringListId} kind={kind} numWeeks={schedule.numWeeks} list={listOf(kind.ringListId)} />
        ))}
      </div>
      <p className="soft">{t("print.as-of", { day: dayText(site.dayAt(clock.now()), language, "short") })}</p>
    </article>
  );
}

interface KindProps {
  kind: CycleDayType;
  numWeeks: number;
  list: RingListRow | undefined;
}

function Kind({ kind, numWeeks, list }: KindProps) {
  const { t, language } = useTranslation();
  const names = weekdayNames(language, "short");
  const days = kind.weeks.map(({ week, days: numbers }) => {
    const words = numbers.map((day) => names[day]).join(", ");
    return numWeeks === 1 ? words : t("schedules.week-day", { number: week + 1, day: words });
  });
  return (
    <section>
      <h3>{list?.name ?? "…"}</h3>
      <p className="soft">{days.join("; ")}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("ring.time")}</th>
            <th scope="col">{t("ring.message")}</th>
          </tr>
        </thead>
        <tbody>
          {list?.entries.map(({ id, time, messageTemplate }) => (
            <tr key={id}>
              <th scope="row">{shortTime(time)}</th>
              <td>{messageTemplate?.name ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
