import { date, integer, list, many, ref, text } from "../../schema/field.ts";

/**
 * A ring of a ring list.
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md; docs/decisions/0042-api-contract.md, `/v1/ring-lists`
 */
export const RING_LIST_ENTRY_FIELDS = {
  time: text("Local time of day, `HH:mm:ss`. `HH:mm` means the full minute.", {
    required: true,
    max: 8,
  }),
  messageTemplateId: ref("Message that is sent.", "message-templates", { required: true }),
  deviceGroupIds: many("Groups whose devices ring; replaces the recipients of the message.", "device-groups", {
    maxItems: 1_000,
  }),
  distributionListIds: many(
    "Lists whose users receive it; replaces the recipients of the message.",
    "distribution-lists",
    {
      maxItems: 1_000,
    },
  ),
} as const;

/**
 * A day of the cycle of a schedule.
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md; docs/decisions/0042-api-contract.md,
 * `/v1/bell-schedules`
 */
export const BELL_SCHEDULE_ENTRY_FIELDS = {
  entryNum: integer("Day of the cycle: 0 is the Monday of week 1, 7 * numWeeks - 1 the last Sunday.", {
    required: true,
    max: 363,
  }),
  ringListId: ref("Ring list of the day; null for a silent day.", "ring-lists"),
} as const;

/**
 * Exceptions from the cycle of a schedule.
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md; docs/decisions/0042-api-contract.md,
 * `/v1/bell-schedules`
 */
export const BELL_SCHEDULE_EXCEPTION_FIELDS = {
  startDate: date("First day.", { required: true }),
  endDate: date("Last day.", { required: true }),
  ringListId: ref("Ring list of these days; null for no bells.", "ring-lists"),
  description: text("Reason.", { max: 250 }),
  ringListChanges: list(
    "Changes to the ring list on these days, applied in this order: `delay <minutes>`, `earlier <minutes>`, `end <HH:mm:ss>` (the last ring moves to this time, rings after it are dropped), `mute <HH:mm:ss> <HH:mm:ss>`, `move <ring of the list> <HH:mm:ss>`.",
    text("A change.", { min: 1, max: 60 }),
    { maxItems: 50, default: [] },
  ),
} as const;

/** A stored ring: `time` is `HH:mm:ss`; lists are in chronological order. */
export interface RingListEntry {
  id: string;
  time: string;
  messageTemplateId: string;
  deviceGroupIds: string[];
  distributionListIds: string[];
}

/** A stored day of the cycle, one per entryNum, in order. */
export interface BellScheduleEntry {
  entryNum: number;
  ringListId: string | null;
}

/** A stored exception, in chronological order without overlaps; dates as `YYYY-MM-DD`, both inclusive. */
export interface BellScheduleException {
  id: string;
  startDate: string;
  endDate: string;
  ringListId: string | null;
  description: string | null;
  /** Changes to the ring list on these days, in order; applied by `changeRings` in bells/. */
  ringListChanges: string[];
  /** Day change that created it; the replaced exception is restored when the day change is reverted. */
  dayChangeId?: string;
  /** Subscribed calendar that it follows. */
  calendarSubscriptionId?: string;
  instead?: BellScheduleException | null;
}
