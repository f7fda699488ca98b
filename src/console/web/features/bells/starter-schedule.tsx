import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import { addDays } from "../../../../bells/date-span.ts";
import type { Row } from "../../api/rows.ts";
import { useRowMutation, useSiteClock } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Form } from "../../ui/form/form.tsx";
import type { FormField, FormValues } from "../../ui/form/form-fields.ts";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { TimeField } from "../../ui/time-field.tsx";
import { allDevicesGroup } from "../devices/all-devices-group.ts";
import { shortTime } from "./calendar-dates.ts";
import { ORDINARY_DAY, ringsOfDay, type SchoolDay } from "./school-day.ts";
import "../../ui/lines.css";

/** Value of `open` in the address while the starter schedule is being created. */
export const STARTER = "ordinary-day";

/** Shown without schedules: create a starter schedule, or ring lists of one's own. */
export function FirstSchedule() {
  const { t } = useTranslation();
  return (
    <span className="row">
      <Link to="/bell-schedules" search={{ open: STARTER }}>
        {t("starter-schedule.title")}
      </Link>
      <Link to="/ring-lists">{t("ring-lists.title")}</Link>
    </span>
  );
}

const MONDAY_TO_FRIDAY = [0, 1, 2, 3, 4];
const DAYS_OF_A_YEAR = 365;

/** A school's first bells in one step: the bell, a ring list for the ordinary day, and a schedule from Monday to Friday. */
export function StarterSchedule({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const today = useSiteClock().dayAt(useConsole().clock.now());
  const making = useMaking();
  const number = (name: keyof SchoolDay, max: number): FormField => ({
    ...{
      name,
      kind: "number",
      required: true,
      label: t(`starter-schedule.${name}`),
      min: name === "breakMinutes" ? 0 : 1,
      max,
    },
  });
  const fields: FormField[] = [
    { name: "name", kind: "text", required: true, label: t("starter-schedule.name"), max: 50 },
    { name: "begins", kind: "own", draw: (given) => <Begins key="begins" {...given} /> },
    number("lessons", 20),
    number("lessonMinutes", 240),
    number("breakMinutes", 240),
    { name: "startDate", kind: "day", required: true, label: t("schedules.first-day") },
    { name: "endDate", kind: "day", required: true, label: t("schedules.last-day") },
    {
      ...{ name: "deviceGroupId", kind: "row", from: "device-groups" },
      ...{ label: t("starter-schedule.where"), hint: t("starter-schedule.where-hint") },
    },
    { name: "rings", kind: "own", draw: ({ values }) => <Rings key="rings" day={dayOf(values)} /> },
  ];
  return (
    <SideSheet title={t("starter-schedule.title")} onClose={onClose}>
      <p className="soft">{t("starter-schedule.intro")}</p>
      <Form
        fields={fields}
        before={{}}
        initial={{ ...ORDINARY_DAY, startDate: today, endDate: addDays(today, DAYS_OF_A_YEAR) }}
        pending={making.isPending}
        error={making.error}
        onSave={(values) => making.mutate(values)}
      />
    </SideSheet>
  );
}

interface BeginsProps {
  values: FormValues;
  change(part: FormValues): void;
}

function Begins({ values, change }: BeginsProps) {
  const { t } = useTranslation();
  return (
    <TimeField
      label={t("starter-schedule.begins")}
      required
      value={String(values.begins ?? "")}
      onChange={(begins) => change({ begins })}
    />
  );
}

function Rings({ day }: { day: SchoolDay }) {
  const { t } = useTranslation();
  const times = ringsOfDay(day);
  return (
    <p role="status">
      {t("starter-schedule.rings", { count: times.length })} {times.map(shortTime).join(", ")}
    </p>
  );
}

function dayOf(values: FormValues): SchoolDay {
  const number = (name: keyof SchoolDay): number => Number(values[name] ?? 0);
  return {
    begins: String(values.begins ?? ""),
    ...{ lessons: number("lessons"), lessonMinutes: number("lessonMinutes"), breakMinutes: number("breakMinutes") },
  };
}

/** Makes what bells consist of, one after the other; what was made before something was refused is not made again. */
function useMaking() {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [, show] = useTableSearch();
  const made = useRef<{ template?: string; list?: string }>({});
  return useRowMutation("bell-schedules", async (values: FormValues) => {
    const name = String(values.name ?? "");
    const bell = t("starter-schedule.bell");
    const group = values.deviceGroupId
      ? String(values.deviceGroupId)
      : (await allDevicesGroup(client, t("welcome.all-devices"))).id;
    const message = { name: bell, subject: bell, alertTone: "chime", deviceGroupIds: [group] };
    made.current.template ??= (await client.post<Row>("message-templates", {}, message)).id;
    const entries = ringsOfDay(dayOf(values)).map((time) => ({ time, messageTemplateId: made.current.template }));
    const { list } = made.current;
    if (list) await client.put("ring-lists/{ringListId}", { ringListId: list }, { entries });
    else
      made.current.list = (await client.post<Row>("ring-lists", {}, { name: t("starter-schedule.list"), entries })).id;
    await client.post(
      "bell-schedules",
      {},
      {
        ...{ name, numWeeks: 1, startDate: values.startDate, endDate: values.endDate },
        bellScheduleEntries: MONDAY_TO_FRIDAY.map((entryNum) => ({ entryNum, ringListId: made.current.list })),
      },
    );
    notify(t("starter-schedule.made", { name }));
    show({ open: undefined });
  });
}
