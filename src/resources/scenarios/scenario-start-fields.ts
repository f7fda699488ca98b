import { boolean, json, list, object, option, ref, secret, text, uuid } from "../../schema/field.ts";
import { LOCATION_STRATEGIES } from "./location-fields.ts";
import { ADDITIONAL_RECIPIENT_FIELDS } from "./scenario-fields.ts";

/** Start parameters allowed in the query instead of a body; a PIN must never be part of a URL. */
export const SCENARIO_START_QUERY = {
  scenarioId: ref("Scenario to start.", "scenarios", { required: true }),
  drill: boolean("Drill: everything that follows from the start is a drill.", { default: false }),
  fields: json("Answers: `[{fieldId | fieldVariable, answer}]`.", { maxBytes: 262_144 }),
  location: json(
    "Location: `{site, building, floor, zone}`, each an object with id, externalId or name; the most specific one is enough.",
    { fromText: true },
  ),
  initiationDevice: object("Device that starts the scenario; provides the location unless `location` is given.", {
    type: option("Device type.", ["api-device"], { default: "api-device" }),
    lookupValue: text("externalId of the device.", { min: 1 }),
  }),
  locationResolutionStrategy: list(
    "Ways to find the location, in order: the first that yields one decides, and the others are not used. By default `location`, `site-question`, `initiation-device`, `scenario-default`.",
    option("A way to find the location.", LOCATION_STRATEGIES),
  ),
  messages: json("Additional recipients of single messages: `[{messageId, distributionListIds, userIds, …}]`.", {
    maxBytes: 262_144,
    items: { messageId: uuid("Message."), ...ADDITIONAL_RECIPIENT_FIELDS },
  }),
} as const;

/**
 * Parameters of a scenario start.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0042-api-contract.md, `/v1/scenario-notifications`
 */
export const SCENARIO_START_FIELDS = {
  ...SCENARIO_START_QUERY,
  confirmationPin: secret("PIN, if the scenario requires one.", { max: 32 }),
} as const;
