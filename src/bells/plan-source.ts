import { derivedId } from "../lib/ids.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import { tableName } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import type { PlanSource } from "./planner.ts";
import { parseRecurrence, type Recurrence, recurrencesBetween } from "./recurrence.ts";
import type { Occurrence, OwnerKind } from "./ring-repository.ts";
import { expandCompiledSchedule, type Ring } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, loadTimetables } from "./timetables.ts";

export const RESOURCE_BY_OWNER_KIND = {
  bell: bellSchedules,
  message: scheduledNotifications,
  clearing: clearDevicesSchedules,
} as const;

/** Plans occurrences from the stored schedules. */
export function createPlanSource(times: LocalTimeContext): PlanSource {
  return {
    owners: (reader) =>
      (Object.keys(RESOURCE_BY_OWNER_KIND) as OwnerKind[]).flatMap((kind) =>
        reader
          .all<{ id: string }>(`SELECT id FROM ${tableName(RESOURCE_BY_OWNER_KIND[kind])}`)
          .map(({ id }) => ({ id, kind })),
      ),
    occurrences(reader, kind, owner, fromMs, toMs, limit) {
      if (kind === "bell") return bellOccurrences(reader, owner, fromMs, toMs, times);
      const rule = recurrenceOf(reader, kind, owner, times);
      return rule ? recurrenceOccurrences(owner, rule, { fromMs, toMs, limit }, times) : [];
    },
  };
}

export function toOccurrence({ entry, id, at, localDate, localTime, ringListId }: Ring): Occurrence {
  return { id, at, localDate, localTime, ringListId, entryId: entry.id, messageTemplateId: entry.messageTemplateId };
}

function bellOccurrences(
  reader: StoreReader,
  owner: string,
  fromMs: number,
  toMs: number,
  times: LocalTimeContext,
): Occurrence[] {
  const row = reader.get(bellSchedules, owner);
  const timetable = row && loadTimetables(reader, [row], times)[0];
  return timetable ? expandCompiledSchedule(compileTimetable(timetable, times), fromMs, toMs).map(toOccurrence) : [];
}

interface RecurrenceRule {
  text: string;
  timeZone: string;
  messageTemplateId: string | null;
}

/** The rule of a scheduled notification or display-clear schedule; null if it does not exist or never fires. */
export function recurrenceOf(
  reader: StoreReader,
  kind: Exclude<OwnerKind, "bell">,
  owner: string,
  times: LocalTimeContext,
): (RecurrenceRule & { repetition: Recurrence }) | null {
  const rule = kind === "message" ? scheduledMessageRule(reader, owner) : clearDevicesRule(reader, owner, times);
  const repetition = rule ? parseRecurrence(rule.text, { zones: times.zones, timeZone: rule.timeZone }) : "";
  return rule && typeof repetition !== "string" ? { ...rule, repetition } : null;
}

/** The name of a schedule; empty for one that has none. */
export function scheduleNameOf(reader: StoreReader, kind: OwnerKind, owner: string): string {
  const row = reader.get(RESOURCE_BY_OWNER_KIND[kind] as typeof bellSchedules, owner) as { name?: unknown } | null;
  return typeof row?.name === "string" ? row.name : "";
}

function scheduledMessageRule(reader: StoreReader, id: string): RecurrenceRule | null {
  const row = reader.get(scheduledNotifications, id);
  if (!row || row.disabled) return null;
  return { text: row.schedule, timeZone: row.timeZone, messageTemplateId: row.messageTemplateId };
}

function clearDevicesRule(reader: StoreReader, id: string, times: LocalTimeContext): RecurrenceRule | null {
  const row = reader.get(clearDevicesSchedules, id);
  return row && { text: row.cronExpression, timeZone: times.ownZone(), messageTemplateId: null };
}

function recurrenceOccurrences(
  owner: string,
  rule: RecurrenceRule & { repetition: Recurrence },
  { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number | undefined },
  { zones, rules }: LocalTimeContext,
): Occurrence[] {
  const zone = zones.of(rule.timeZone);
  const found = recurrencesBetween(rule.repetition, zone, rules ?? DEFAULT_CLOCK_RULES, fromMs, toMs);
  return found.slice(0, limit).map(({ at, localMs }) => {
    const [localDate = "", localTime = ""] = new Date(localMs).toISOString().slice(0, 19).split("T");
    const id = derivedId(owner, "", localDate, localTime);
    const { messageTemplateId } = rule;
    return { id, at, localDate, localTime, ringListId: null, entryId: null, messageTemplateId };
  });
}
