import { boolean, integer, internal, json, many, option, ref, secret, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/** Calendars that others publish. @source docs/decisions/0542-calendar-subscriptions.md */
export default defineResource({
  name: "calendar-subscriptions",
  doc: "A calendar that others publish at a URL, such as the holidays of a school district. Its days become exceptions of bell schedules and follow its changes.",
  paths: [{ at: "calendar-subscriptions" }],
  idParam: "calendarSubscriptionId",
  scope: "domain",
  replicate: "local",
  limit: { most: 100 },
  fields: {
    name: text("Name of the calendar.", { required: true, min: 1, max: 140 }),
    url: secret(
      "Address of the calendar (iCalendar): http, https or webcal. It may contain a private token, so it is stored encrypted and never returned; `host` is.",
      { required: true, max: 2_000 },
    ),
    bellScheduleIds: many(
      "Schedules whose exceptions follow the calendar. The caller must be allowed to change them.",
      "bell-schedules",
      {
        maxItems: 100,
      },
    ),
    ringListId: ref("Ring list of its days; null for no bells.", "ring-lists", { onDelete: "refuse" }),
    refreshMinutes: integer("Interval at which it is fetched.", { min: 15, max: 10_080, default: 360, unit: "min" }),
    shrinkThreshold: integer(
      "Maximum percentage of its coming days that a new version may drop. A version above it changes nothing until it is confirmed.",
      { max: 100, default: 30, unit: "%" },
    ),
    autoConfirmMinutes: integer(
      "Days that would silence or move bells of the next 24 hours wait for this long, then they apply without confirmation; 0: at once; null: they wait until somebody confirms them.",
      { max: 1_440, unit: "min" },
    ),
    disabled: boolean("Stops fetching it; its days stay.", { default: false }),
    state: option(
      "`new`: not read yet; `current`: its days apply; `waiting`: some days wait for confirmation; `held`: the new version dropped too many days and waits for confirmation; `failed`: the address does not return a calendar; `unreachable`: its server does not respond. What applied before stays in all of them.",
      ["new", "current", "waiting", "held", "failed", "unreachable"],
      { readOnly: true, default: "new" },
    ),
    reason: text("What is wrong, or what is waited for.", { readOnly: true, max: 1_000 }),
    reasonSentence: sentenceField("Reason", "reason"),
    host: text("Host of the URL.", { readOnly: true }),
    fetchedAt: timestamp("Last attempt to fetch it.", { readOnly: true }),
    readAt: timestamp("Last time that the server returned it, or said that it has not changed.", { readOnly: true }),
    changedAt: timestamp("Last time that its days changed a schedule.", { readOnly: true }),
    failingSince: timestamp("Time since which it could not be read.", { readOnly: true }),
    days: integer("Number of its coming days that apply, in all schedules.", { readOnly: true }),
    pendingId: text("Identifies what waits; the confirmation names it.", { readOnly: true, max: 64, search: false }),
    pendingSince: timestamp("Time since which it waits.", { readOnly: true }),
    pendingChanges: json(
      "What waits: `{schedules: [{bellScheduleId, name, added, removed}], rings: {silenced, moved, first}}`; days as `[{startDate, endDate, description}]`, the first 20 rings as `[{bellScheduleId, localDate, localTime}]`.",
      { readOnly: true, maxBytes: 262_144 },
    ),
    lastChanges: json("The last change of the schedules, in the same form.", { readOnly: true, maxBytes: 262_144 }),
    rejected: json("Its events that cannot be read, at most 20: `[{number, summary, message, messageSentence}]`.", {
      readOnly: true,
      maxBytes: 65_536,
      default: [],
    }),
    etag: internal("ETag of the last version.", "text"),
    lastModified: internal("Last-Modified of the last version.", "text"),
  },
});
