import type { components } from "#client";
import type { DateSpan } from "../../../bells/date-span.ts";
import type { BellScheduleEntry, BellScheduleException } from "../../../resources/bells/bell-fields.ts";
import type { ReachVerdict } from "../../../resources/notifications/device-outcomes.ts";
import type { SentenceOfApi } from "../i18n/translator.ts";
import type { Named, RowOf } from "./rows.ts";

/** A ring of a ring list, with the names of its references; null where the caller may not see them. */
export interface RingEntry {
  id: string;
  time: string;
  messageTemplateId: string | null;
  messageTemplate: Named | null;
  deviceGroupIds: readonly string[];
  deviceGroups: readonly Named[];
  distributionListIds: readonly string[];
  distributionLists: readonly Named[];
}

/** The rings of one kind of day. */
export type RingListRow = Omit<RowOf<"RingList">, "entries"> & { entries: readonly RingEntry[] };

/** A day of a schedule's cycle. */
export type CycleDay = BellScheduleEntry & { ringListName?: string | null };

/** Days that ring otherwise. */
export type ScheduleExceptionRow = Omit<BellScheduleException, "instead"> & { ringListName?: string | null };

/** When which day rings how. */
export type BellScheduleRow = Omit<RowOf<"BellSchedule">, "bellScheduleEntries" | "bellScheduleExceptions"> & {
  bellScheduleEntries: readonly CycleDay[];
  bellScheduleExceptions: readonly ScheduleExceptionRow[];
};

/** State of a ring. */
export type RingState = "planned" | "prepared" | "armed" | "started" | "rung" | "late" | "missed" | "skipped";

/** A ring of a schedule. */
export interface RingRow {
  /** Speakers that played it by themselves while the appliance could not be reached. */
  playedAlone?: number;
  /** Whom it reached; null or absent before it is over. */
  verdict?: ReachVerdict | null;
  id: string;
  at: string;
  localDate: string;
  localTime: string;
  ringListId: string | null;
  entryId: string | null;
  messageTemplateId: string | null;
  state: RingState;
}

/** One of the next rings of all schedules. */
export interface UpcomingRingRow extends RingRow {
  bellSchedule: Named;
  messageTemplate: Named | null;
}

/** Days that ring otherwise for once. */
export type DayChangeRow = Omit<RowOf<"BellSchedulesDayChange">, "schedulesAffected"> & {
  schedulesAffected: readonly Named[];
};

/** Changes that a write makes to the rings of the next 400 days. */
export type RingChanges = components["schemas"]["RingDifference"];

/** The answer to a rehearsal. */
export interface DryRunResult {
  ringDiff?: RingChanges;
}

/** Two rings at one instant on the same devices. */
export type OverlapRow = RingChanges["overlaps"]["first"][number];

/** A calendar subscription of a schedule; `url` is returned once, when it is created. */
export type CalendarFeedRow = RowOf<"BellScheduleFeed"> & { url?: string };

/** Days that a calendar adds or removes, and the bells that this silences. */
export interface CalendarChanges {
  schedules: readonly {
    bellScheduleId: string;
    name: string;
    added: readonly CalendarSpan[];
    removed: readonly CalendarSpan[];
  }[];
  rings: {
    silenced: number;
    moved: number;
    first: readonly { bellScheduleId: string; localDate: string; localTime: string }[];
  };
}

type CalendarSpan = DateSpan & { description: string | null };

/** An event of a calendar that is not imported. */
export interface RejectedEvent {
  number: number;
  summary: string | null;
  message: string;
  messageSentence: SentenceOfApi | null;
}

/** A calendar of others that schedules follow. */
export type CalendarSubscriptionRow = Omit<
  RowOf<"CalendarSubscription">,
  "pendingChanges" | "lastChanges" | "rejected"
> & {
  pendingChanges: CalendarChanges | null;
  lastChanges: CalendarChanges | null;
  rejected: readonly RejectedEvent[];
};

/** A message that is sent at the times of a rule. */
export type ScheduledNotificationRow = RowOf<"ScheduledNotification"> & {
  messageTemplate?: Named | null;
  nextLocalTimes?: readonly string[];
};

/** Times at which devices are cleared. */
export type ScreenClearingRow = RowOf<"ClearDevicesSchedule"> & { nextLocalTimes?: readonly string[] };
