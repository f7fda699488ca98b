import { boolean, json, object, option, ref, secret, text } from "../../schema/field.ts";

/** What a query may say of a start, which then needs no body; a PIN never stands in an address. */
export const SCENARIO_START_QUERY = {
  scenarioId: ref("Scenario that is started.", "scenarios", { required: true }),
  drill: boolean("It is practised, and so is all that follows from it.", { default: false }),
  fields: json("Answers: `[{fieldId | fieldVariable, answer}]`.", { maxBytes: 262_144 }),
  location: json(
    "Where: `{site, building, floor, zone}`, each an object with id, else externalId, else name; the narrowest alone is enough.",
  ),
  initiationDevice: object("Device that starts it, and says where unless `location` does.", {
    type: option("Kind of device.", ["api-device"], { default: "api-device" }),
    lookupValue: text("The device's externalId.", { min: 1 }),
  }),
  messages: json("Further recipients of single messages: `[{messageId, distributionListIds, userIds, …}]`.", {
    maxBytes: 262_144,
  }),
} as const;

/** What a request says that starts a scenario. @source decisions.md 7; digest `/v1/scenario-notifications` */
export const SCENARIO_START_FIELDS = {
  ...SCENARIO_START_QUERY,
  confirmationPin: secret("PIN of a scenario that asks for one.", { max: 32 }),
} as const;
