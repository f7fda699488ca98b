import { zoneChangeReports } from "../../bells/zone-changes.ts";
import { sentencesField } from "../../resources/sentence-field.ts";
import { boolean, computed, integer, list, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";

const REQUIRED = { required: true } as const;

const SOURCE = {
  kind: text("`machine`, `installed` or `node`.", REQUIRED),
  version: text("Version, such as 2026f; null if unknown."),
  arrivedAt: timestamp("Time since when the appliance has it; null if unknown."),
  isInUse: boolean("Whether bells follow it.", REQUIRED),
  differs: list("Time zones in which it has other offsets than the source in use.", text("Time zone.")),
  lacks: list("Time zones that it lacks.", text("Time zone.")),
};

const ZONE = {
  name: text("Time zone.", REQUIRED),
  from: timestamp("Instant from which the offset differs.", REQUIRED),
  before: text("Offset from UTC before the change.", REQUIRED),
  now: text("Offset from UTC now.", REQUIRED),
};

const RING = {
  scheduleId: text("Id of the schedule.", REQUIRED),
  schedule: text("Name of the schedule.", REQUIRED),
  kind: text("`bell`, `message` or `clearing`.", REQUIRED),
  zone: text("Time zone of the schedule.", REQUIRED),
  localDate: text("Date of the ring there.", REQUIRED),
  localTime: text("Time of the ring there.", REQUIRED),
  before: timestamp("Instant of the ring before the change.", REQUIRED),
  now: timestamp("Instant of the ring now; null where this local time no longer exists."),
};

const CHANGE = {
  at: timestamp("Time at which the change was noticed.", REQUIRED),
  before: text("Version and source before.", REQUIRED),
  now: text("Version and source after.", REQUIRED),
  zones: computed("Time zones with new rules.", "array", { of: ZONE }),
  rings: integer("Rings that moved within the next 365 days.", REQUIRED),
  schedules: integer("Schedules with such rings.", REQUIRED),
  first: computed("The first of these rings, at most 20.", "array", { of: RING }),
};

const MAX_CHANGES = 20;

/** The time zone data that bells follow, and what new data moved. @source docs/decisions/0450-time-zone-data.md */
export const timeZoneDataActions: readonly Action[] = [
  {
    method: "get",
    at: "time-zone-data",
    doc: "Returns the sources of time zone data, the one in use, and the rings that changes of it moved.",
    response: {
      kind: "members",
      fields: {
        sources: computed("Sources, the one in use first.", "array", { of: SOURCE }),
        problems: list("What keeps a source from being used.", text("Reason.")),
        problemSentences: sentencesField("Problems"),
        changes: computed("Changes of the data in use, newest first.", "array", { of: CHANGE }),
      },
    },
    async handle({ deps }) {
      const sources = await deps.zoneData.compareSources();
      const problems = deps.zoneData.problems();
      return jsonResponse({
        sources: sources.map(({ arrivedAt, ...source }) => ({
          ...source,
          arrivedAt: arrivedAt === null ? null : new Date(arrivedAt).toISOString(),
        })),
        problems,
        problemSentences: deps.plugins.sentences.readAll(problems),
        changes: zoneChangeReports(deps.store, MAX_CHANGES).map(({ moved, ...change }) => ({ ...change, ...moved })),
      });
    },
  },
];
