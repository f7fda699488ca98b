import { boolean, date, integer, json, many, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { BELL_SCHEDULE_ENTRY_FIELDS, BELL_SCHEDULE_EXCEPTION_FIELDS } from "./bell-fields.ts";
import { TIME_ZONES } from "./time-zones.ts";
import { ZONES_OF_WINDOWS_NAMES } from "./windows-zones.ts";

/**
 * Bell schedules.
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md; docs/decisions/0042-api-contract.md,
 * `/v1/bell-schedules`
 */
export default defineResource({
  name: "bell-schedules",
  doc: "Which ring list rings on which day, in cycles of weeks, with exceptions.",
  paths: [{ at: "bell-schedules" }],
  idParam: "bellScheduleId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("Name of the schedule.", { required: true, min: 1, max: 50, unique: true }),
    isShared: boolean("Visible in the domains below the schedule's domain.", { default: false }),
    description: text("Purpose.", { max: 255 }),
    numWeeks: integer("Weeks of the cycle, 1 to 52; week 1 contains startDate.", {
      required: true,
      min: 1,
      max: 52,
      unit: "weeks",
    }),
    startDate: date("First day on which it rings.", { required: true }),
    endDate: date("Last day on which it rings.", { required: true }),
    timeZone: option("Time zone of the schedule; default: that of the appliance.", TIME_ZONES, {
      otherNames: ZONES_OF_WINDOWS_NAMES,
    }),
    rotation: option(
      "`calendar`: the cycle follows the calendar weeks; `school-day`: after days silenced by an exception the cycle continues with the day that was skipped.",
      ["calendar", "school-day"],
      { default: "calendar" },
    ),
    bellScheduleEntries: json(
      "The cycle: `[{entryNum, ringListId}]`, entryNum 0 for the Monday of week 1 to 7 * numWeeks - 1. A missing day, or one without a ring list, is silent. Returned with `ringListName`.",
      { maxBytes: 65_536, default: [], items: BELL_SCHEDULE_ENTRY_FIELDS },
    ),
    bellScheduleExceptions: json(
      "Days that differ from the cycle: `[{id, startDate, endDate, ringListId, description, ringListChanges}]`; both dates inclusive, null ringListId for no bells, no overlaps, at most 1000. Returned in chronological order with `ringListName`. ringListChanges (`delay 60`, `earlier 30`, `end 12:30:00`, `mute 08:00:00 11:00:00`, `move <ring of the list> 08:05:00`) modify the ring list on these days only. Exceptions of a day change carry its dayChangeId, those of a subscribed calendar its calendarSubscriptionId.",
      { maxBytes: 1_048_576, default: [], items: BELL_SCHEDULE_EXCEPTION_FIELDS },
    ),
    ringListIds: many("Ring lists in use; these cannot be deleted.", "ring-lists", {
      readOnly: true,
      dependents: "bell-schedule",
      onDelete: "refuse",
    }),
  },
});
