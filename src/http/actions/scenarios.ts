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
  simulatedAnswers: json(
    "Simulated answers, as for a start or as an object by variable; adds a preview to the response.",
  ),
  location: json("Simulated location, as for a start."),
};
const NAMED = { id: uuid("Its id."), name: text("Its name.") };
const COUNTED = {
  count: integer("Number."),
  first: computed("The first 100.", "array", { of: NAMED }),
};
const PREVIEW = computed(
  "Preview of a start: recipients, devices and texts; returned when a start is simulated.",
  "object",
  {
    of: {
      location: computed("Location.", "object", { of: LOCATION_FIELDS, nullable: true }),
      locationText: text("Location as text."),
      messages: computed("The messages.", "array", {
        of: {
          messageId: uuid("Id of the message."),
          name: text("Its name."),
          subject: text("Subject with placeholders filled in."),
          body: text("Body with placeholders filled in."),
          ttsCustomContent: text("Spoken text for custom-text with placeholders filled in."),
          users: computed("Users it would reach.", "object", { of: COUNTED }),
          devices: computed("Devices it would contact.", "object", { of: COUNTED }),
        },
      }),
    },
  },
);
const simulatedDecoder = compileDecoder(SIMULATED);
const startQueryDecoder = compileDecoder(SCENARIO_START_QUERY);

/**
 * Scenarios are previewed and started.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0042-api-contract.md, `/v1/scenario-notifications`
 */
export const scenarioActions: readonly Action[] = [
  {
    method: "get",
    at: "scenarios/{scenarioId}",
    doc: "Returns a scenario; with answers or a location, also a preview of the start.",
    query: SIMULATED,
    response: { kind: "row", resource: scenarios, with: { preview: PREVIEW } },
    permission: "anyone",
    async handle(request) {
      const scenario = requireVisibleRow(request, scenarios, request.params.scenarioId ?? "");
      const response = await request.respondWithRow(scenarios, scenario);
      const { simulatedAnswers: answers, location } = simulatedDecoder.form(request.query);
      if (answers === undefined && location === undefined) return response;
      const preview = await request.deps.scenarios.preview(scenario, { answers, location }, request.by);
      return addMembers(response, { preview });
    },
  },
  {
    method: "post",
    at: "scenario-notifications",
    doc: "Starts a scenario, with parameters in the body or in the query. All of its messages are sent, or none.",
    response: { kind: "row", resource: scenarioNotifications },
    accepts: SCENARIO_START_FIELDS,
    query: SCENARIO_START_QUERY,
    permission: "anyone",
    async handle(request) {
      const { deps, body, query, by } = request;
      const given = { ...startQueryDecoder.form(query), ...body };
      assertMayStart(by.scope, given.drill);
      return request.respondWithRow(scenarioNotifications, await deps.scenarios.start(given, by));
    },
  },
];

/** Users who may only send drills may start drills. @source docs/decisions/0023-visibility-and-permissions.md */
function assertMayStart(scope: AccessScope, drill: unknown): void {
  if (scope.allows("post", "/scenario-notifications")) return;
  const isDrill = drill === true || drill === "true";
  if (!isDrill || !scope.allows("post", "/drill-notifications")) throw forbidden();
}
