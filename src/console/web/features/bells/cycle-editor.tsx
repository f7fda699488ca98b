import { Button, NativeSelect } from "@mantine/core";
import type { CycleDay } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { weekdayNames } from "./calendar-dates.ts";
import { useRingLists } from "./use-bells.ts";

const MAX_WEEKS = 52;
const DAYS = 7;
const WORKDAYS = [0, 1, 2, 3, 4];

/** Which ring list each day of the cycle rings. */
export function CycleEditor({ values, change }: CustomFieldProps) {
  const { t } = useTranslation();
  const lists = useRingLists();
  const cycle = (values.bellScheduleEntries ?? []) as readonly CycleDay[];
  const weeks = Math.min(MAX_WEEKS, Math.max(1, Number(values.numWeeks) || 1));
  // A list that is beyond the first page, or may not be seen, must not fall out of the field.
  const held = cycle.flatMap(({ ringListId, ringListName }) => (ringListId ? [[ringListId, ringListName ?? "…"]] : []));
  const options = new Map([...held, ...(lists.data?.data.map(({ id, name }) => [id, name]) ?? [])] as [
    string,
    string,
  ][]);
  const set = (days: readonly { entryNum: number; ringListId: string | null }[]) => {
    const kept = cycle.filter(({ entryNum }) => !days.some((day) => day.entryNum === entryNum));
    const next = [...kept, ...days].filter(
      ({ entryNum, ringListId }) => ringListId !== null && entryNum < weeks * DAYS,
    );
    next.sort((one, other) => one.entryNum - other.entryNum);
    change({ bellScheduleEntries: next });
  };
  return (
    <section className="stack" aria-label={t("schedules.cycle")}>
      <h3 className="form-heading">{t("schedules.cycle")}</h3>
      <p className="soft">{t("schedules.cycle-text")}</p>
      <ErrorLine error={lists.error} />
      {numbersTo(weeks).map((week) => (
        <Week key={week} {...{ week, weeks, cycle, options }} onDays={(days) => set(days)} />
      ))}
    </section>
  );
}

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}

interface WeekProps {
  week: number;
  weeks: number;
  cycle: readonly CycleDay[];
  options: ReadonlyMap<string, string>;
  onDays(days: readonly { entryNum: number; ringListId: string | null }[]): void;
}

function Week({ week, weeks, cycle, options, onDays }: WeekProps) {
  const { t, language } = useTranslation();
  const first = week * DAYS;
  const listOn = (entryNum: number) => cycle.find((day) => day.entryNum === entryNum)?.ringListId ?? null;
  const days = (
    <div className="stack">
      <div className="cycle-week">
        {weekdayNames(language, "long").map((name, at) => (
          <NativeSelect
            key={name}
            label={weeks === 1 ? name : t("schedules.week-day", { number: week + 1, day: name })}
            value={listOn(first + at) ?? ""}
            data={[
              { value: "", label: t("schedules.silent") },
              ...[...options].map(([value, label]) => ({ value, label })),
            ]}
            onChange={(event) => onDays([{ entryNum: first + at, ringListId: event.currentTarget.value || null }])}
          />
        ))}
      </div>
      <div>
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => onDays(WORKDAYS.map((at) => ({ entryNum: first + at, ringListId: listOn(first) })))}
        >
          {t("schedules.monday-to-friday")}
        </Button>
      </div>
    </div>
  );
  if (weeks === 1) return days;
  return (
    <details {...(week === 0 ? { open: true } : {})}>
      <summary>{t("schedules.week", { number: week + 1 })}</summary>
      {days}
    </details>
  );
}
