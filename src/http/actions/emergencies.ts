import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { EMERGENCY_KINDS } from "../../readiness/emergencies.ts";
import { type EmergencyReadiness, READINESS_STATES } from "../../readiness/readiness.ts";
import { sentencesField } from "../../resources/sentence-field.ts";
import { computed, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";

const REQUIRED = { required: true } as const;

const COUNTS = {
  speakers: integer("Speakers and paging zones.", REQUIRED),
  phones: integer("Phones.", REQUIRED),
  others: integer("Desktop notifiers and other devices.", REQUIRED),
};

const EMERGENCY = {
  kind: option("How it is started.", EMERGENCY_KINDS, REQUIRED),
  resource: text("Resource of its row, such as `scenarios`.", REQUIRED),
  id: uuid("Id of its row.", REQUIRED),
  name: text("Name.", REQUIRED),
  state: option(
    "`unreachable`: reaches no device and no person; `reduced`: fewer than usual, or none in a building; `untested`: neither sent nor drilled for a long time.",
    READINESS_STATES,
    REQUIRED,
  ),
  problems: computed("What is wrong, the worst first.", "array", { of: text("Sentence.") }),
  problemSentences: sentencesField("Problems"),
  ...COUNTS,
  people: integer("People on its lists and named directly.", REQUIRED),
  doubtful: integer("Devices that did not answer the last message or are not registered; not counted above.", REQUIRED),
  excluded: integer("Devices that would not be asked; not counted above.", REQUIRED),
  usual: integer("Highest number of devices and people within the last seven days.", REQUIRED),
  byLocation: computed("Devices by building; buildings without any are named in `problems`.", "array", {
    of: {
      buildingId: uuid("Id of the building.", REQUIRED),
      name: text("Site and building.", REQUIRED),
      ...COUNTS,
    },
  }),
  testedAt: timestamp("When it was last sent, live or as a drill; null if never."),
  assessedAt: timestamp("When this was determined.", REQUIRED),
};

/** Readiness of emergencies. @source docs/decisions/0430-emergency-readiness.md */
export const emergencyActions: readonly Action[] = [
  {
    method: "get",
    at: "emergencies",
    doc: "Lists everything that sends in an emergency, and whom it would reach now; the least ready first.",
    response: { kind: "members", fields: { emergencies: computed("Emergencies.", "array", { of: EMERGENCY }) } },
    // Limited to the rows that the user may see.
    permission: "anyone",
    async handle({ deps, by }) {
      return jsonResponse({
        emergencies: deps.readiness.list(by.scope).map((each) => present(each, deps.plugins.sentences)),
      });
    },
  },
];

function present({ testedAt, assessedAt, ...readiness }: EmergencyReadiness, sentences: SentenceReader) {
  const problemSentences = sentences.readAll(readiness.problems);
  return {
    ...readiness,
    problemSentences,
    testedAt: testedAt === null ? null : isoText(testedAt),
    assessedAt: isoText(assessedAt),
  };
}

function isoText(at: number): string {
  return new Date(at).toISOString();
}
