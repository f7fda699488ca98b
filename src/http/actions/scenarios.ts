import { forbidden } from "../../lib/errors.ts";
import { LOCATION_FIELDS } from "../../resources/scenarios/location-fields.ts";
import scenarioNotifications from "../../resources/scenarios/scenario-notifications.ts";
import { SCENARIO_START_FIELDS, SCENARIO_START_QUERY } from "../../resources/scenarios/scenario-start-fields.ts";
import scenarios from "../../resources/scenarios/scenarios.ts";
import { compileDecoder } from "../../schema/decoder.ts";
import { computed, integer, json, text, uuid } from "../../schema/field.ts";
import type { AccessScope } from "../../store/store.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { addMembers } from "./add-members.ts";

const SIMULATED = {
  simulatedAnswers: json("Answers, as for a start or as an object by variable: the answer says what would happen."),
  location: json("Where it would be started, as for a start."),
};
const NAMED = { id: uuid("Its id."), name: text("Its name.") };
const COUNTED = {
  count: integer("How many."),
  first: computed("The first 100 of them.", "array", { of: NAMED }),
};
const PREVIEW = computed(
  "Who and what a start would reach, and with which words; given when one is simulated.",
  "object",
  {
    of: {
      location: computed("Where.", "object", { of: LOCATION_FIELDS, nullable: true }),
      locationText: text("Where, in words."),
      messages: computed("The messages.", "array", {
        of: {
          messageId: uuid("Id of the message."),
          name: text("Its name."),
          subject: text("Its first line, places filled."),
          body: text("Its text, places filled."),
          ttsCustomContent: text("What is spoken for custom-text, places filled."),
          users: computed("People it would reach.", "object", { of: COUNTED }),
          devices: computed("Devices it would call.", "object", { of: COUNTED }),
        },
      }),
    },
  },
);
const simulatedDecoder = compileDecoder(SIMULATED);
const startQueryDecoder = compileDecoder(SCENARIO_START_QUERY);

/** Scenarios are previewed and started. @source decisions.md 7; service-api.md, Versioning 4; digest `/v1/scenario-notifications` */
export const scenarioActions: readonly Action[] = [
  {
    method: "get",
    at: "scenarios/{scenarioId}",
    doc: "Shows a scenario; with answers or a location, who and what a start would reach, too.",
    query: SIMULATED,
    response: { kind: "row", resource: scenarios, with: { preview: PREVIEW } },
    permission: "anyone",
    async handle(request) {
      const scenario = requireVisibleRow(request, scenarios, request.params.scenarioId ?? "");
      const answer = await request.respondWithRow(scenarios, scenario);
      const { simulatedAnswers: answers, location } = simulatedDecoder.form(request.query);
      if (answers === undefined && location === undefined) return answer;
      const preview = await request.needs.scenarios.preview(scenario, { answers, location }, request.by);
      return addMembers(answer, { preview });
    },
  },
  {
    method: "post",
    at: "scenario-notifications",
    doc: "Starts a scenario by body, or by query without one: its messages are sent, all or none.",
    response: { kind: "row", resource: scenarioNotifications },
    accepts: SCENARIO_START_FIELDS,
    query: SCENARIO_START_QUERY,
    permission: "anyone",
    async handle(request) {
      const { needs, body, query, by } = request;
      const given = { ...startQueryDecoder.form(query), ...body };
      assertMayStart(by.scope, given.drill);
      return request.respondWithRow(scenarioNotifications, await needs.scenarios.start(given, by));
    },
  },
];

/** Who may only drill may start drills. @source interfaces.md, Who sees and may do what */
function assertMayStart(scope: AccessScope, drill: unknown): void {
  if (scope.allows("post", "/scenario-notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}
