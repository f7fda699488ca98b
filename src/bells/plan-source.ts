import { derivedId } from "../base/ids.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { Reader } from "../store/store.ts";
import type { PlanSource } from "./planner.ts";
import { instantsBetween, readRepetition } from "./repetition.ts";
import type { Occurrence, OwnerKind } from "./ring-book.ts";
import { type Ring, ringsOf } from "./rings.ts";
import { type BellTimes, compileTimetable, timetablesOf } from "./timetables.ts";
import { DEFAULT_CLOCK_RULES } from "./zones.ts";

/** The resource behind each kind of plan. */
export const OWNERS = {
  bell: bellSchedules,
  message: scheduledNotifications,
  clearing: clearDevicesSchedules,
} as const;

/** Plans are made from the stored schedules. */
export function createPlanSource(times: BellTimes): PlanSource {
  return {
    owners: (reader) =>
      (Object.keys(OWNERS) as OwnerKind[]).flatMap((kind) =>
        reader.all<{ id: string }>(`SELECT id FROM ${tableOf(OWNERS[kind])}`).map(({ id }) => ({ id, kind })),
      ),
    occurrences(reader, kind, owner, fromMs, toMs) {
      if (kind === "bell") return bellsOf(reader, owner, fromMs, toMs, times);
      const rule = kind === "message" ? ruleOfMessage(reader, owner) : ruleOfClearing(reader, owner, times);
      return rule ? timesOf(owner, rule, fromMs, toMs, times) : [];
    },
  };
}

/** A bell as it is planned. */
export function plannedBell({ entry, id, at, localDate, localTime, ringListId }: Ring): Occurrence {
  return { id, at, localDate, localTime, ringListId, entryId: entry.id, messageTemplateId: entry.messageTemplateId };
}

function bellsOf(reader: Reader, owner: string, fromMs: number, toMs: number, times: BellTimes): Occurrence[] {
  const row = reader.get(bellSchedules, owner);
  const timetable = row && timetablesOf(reader, [row], times)[0];
  return timetable ? ringsOf(compileTimetable(timetable, times), fromMs, toMs).map(plannedBell) : [];
}

interface Rule {
  text: string;
  timeZone: string;
  messageTemplateId: string | null;
}

function ruleOfMessage(reader: Reader, id: string): Rule | null {
  const row = reader.get(scheduledNotifications, id);
  if (!row || row.disabled) return null;
  return { text: row.schedule, timeZone: row.timeZone, messageTemplateId: row.messageTemplateId };
}

function ruleOfClearing(reader: Reader, id: string, times: BellTimes): Rule | null {
  const row = reader.get(clearDevicesSchedules, id);
  return row && { text: row.cronExpression, timeZone: times.ownZone(), messageTemplateId: null };
}

function timesOf(owner: string, rule: Rule, fromMs: number, toMs: number, { zones, rules }: BellTimes): Occurrence[] {
  const repetition = readRepetition(rule.text);
  if (typeof repetition === "string") return [];
  const zone = zones.of(rule.timeZone);
  return instantsBetween(repetition, zone, rules ?? DEFAULT_CLOCK_RULES, fromMs, toMs).map(({ at, localMs }) => {
    const [localDate = "", localTime = ""] = new Date(localMs).toISOString().slice(0, 19).split("T");
    const id = derivedId(owner, "", localDate, localTime);
    const { messageTemplateId } = rule;
    return { id, at, localDate, localTime, ringListId: null, entryId: null, messageTemplateId };
  });
}
