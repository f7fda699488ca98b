import { boolean, date, integer, json, many, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { TIME_ZONES } from "./time-zones.ts";

/** When which day rings how. @source service-api.md, /v1/bell-schedules; decisions.md 9; digest `/v1/bell-schedules` */
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
    name: text("What people call the schedule.", { required: true, min: 1, max: 50, unique: true }),
    isShared: boolean("Domains below the schedule's own see it too.", { default: false }),
    description: text("What it is for.", { max: 255 }),
    numWeeks: integer("Weeks of the cycle; week 1 is the one that holds startDate. own choice: up to 52.", {
      required: true,
      min: 1,
      max: 52,
      unit: "weeks",
    }),
    startDate: date("First day on which it rings.", { required: true }),
    endDate: date("Last day on which it rings.", { required: true }),
    timeZone: option("Zone in which its times are local; the appliance's own when not given.", TIME_ZONES),
    rotation: option(
      "own choice: `calendar`, the cycle follows the weeks; `school-day`, after days silenced by an exception it goes on with the day that was left out.",
      ["calendar", "school-day"],
      { default: "calendar" },
    ),
    bellScheduleEntries: json(
      "The cycle: `[{entryNum, ringListId}]`, entryNum 0 for the Monday of week 1 to 7 * numWeeks - 1; a day that is not there, or without a ring list, is silent. Read with `ringListName`.",
      { maxBytes: 65_536, default: [] },
    ),
    bellScheduleExceptions: json(
      "Days that ring otherwise: `[{id, startDate, endDate, ringListId, description, ringListChanges}]`, both dates included, no ring list for no bells, none overlapping another. Read in order of time, with `ringListName`. own choice: at most 1000; ringListChanges (`delay 60`, `earlier 30`, `end 12:30:00`, `mute 08:00:00 11:00:00`, `move <ring of the list> 08:05:00`) change the ring list on these days alone. Those of a day change name it by dayChangeId.",
      { maxBytes: 1_048_576, default: [] },
    ),
    ringListIds: many("own choice: its ring lists, which can't be deleted while they are.", "ring-lists", {
      readOnly: true,
      dependents: "bell-schedule",
      onDelete: "refuse",
    }),
  },
});
