import { boolean, computed, json, many, object, option, pin, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOCATION_FIELDS } from "./location-fields.ts";
import { SCENARIO_MESSAGE_FIELDS, SCENARIO_QUESTION_FIELDS } from "./scenario-fields.ts";

/**
 * Prepared situations: questions, messages, a location.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0042-api-contract.md, `/v1/scenarios`
 */
export default defineResource({
  name: "scenarios",
  doc: "A prepared situation: the user who starts it answers its questions, and its messages are sent.",
  paths: [{ at: "scenarios" }],
  idParam: "scenarioId",
  scope: "domain",
  replicate: "B",
  clone: {},
  fields: {
    name: text("Name of the scenario.", { required: true, min: 1, max: 70 }),
    isShared: boolean("Visible in the domains below the scenario's domain.", { default: false }),
    description: text("When to use it.", { max: 140 }),
    icon: text("Name of the icon.", { max: 60 }),
    backgroundColor: text("Colour of the tile.", { required: true, format: "color", max: 7 }),
    type: option("Type of trigger.", ["standard", "panic-button", "integration"], { required: true }),
    emergency: boolean("Shown on the emergency page; its messages are critical.", { default: false }),
    confirmationType: option("Confirmation required to start the scenario.", ["none", "pin", "prompt"], {
      default: "none",
    }),
    confirmationPin: pin("PIN required to start the scenario: 4 to 12 digits, never returned."),
    customConfirm: text("Confirmation prompt before the start.", { max: 255 }),
    fields: json(
      "Questions in order of rank: `[{id, name, variable, type, options, rank, required}]`, at most 50. Variables begin with a letter and have 3 to 32 letters, digits and underscores. For scenarios with a location, a question about the site with a fixed id is returned in addition and is not stored.",
      { maxBytes: 262_144, default: [], items: SCENARIO_QUESTION_FIELDS },
    ),
    messages: json(
      "Messages, 1 to 50: `[{id, name, messageTemplateId, subject, body, ttsCustomContent, confirmationRequestId, siteRoleIds}]`. Returned with `messageTemplate` and `siteRoles`.",
      { required: true, maxBytes: 1_048_576, items: SCENARIO_MESSAGE_FIELDS },
    ),
    messageTemplateIds: many("Message templates in use; these cannot be deleted.", "message-templates", {
      readOnly: true,
      dependents: "scenario",
      onDelete: "refuse",
    }),
    confirmationRequestIds: many("Confirmation requests of its messages.", "confirmation-requests", { readOnly: true }),
    siteRoleIds: many("Site roles of the messages.", "site-roles", { readOnly: true }),
    instructions: object("Instructions for the user who started it.", {
      step1: text("First step.", { max: 255 }),
      step2: text("Second step.", { max: 255 }),
      step3: text("Third step.", { max: 255 }),
      step4: text("Fourth step.", { max: 255 }),
      step5: text("Fifth step.", { max: 255 }),
    }),
    locationEnabled: boolean("The scenario has a location.", { default: false }),
    locationQuestionName: text("Label of the location question; default: `Location`.", {
      max: 255,
    }),
    locationVariable: text("Variable for a summary of the location; default: `location`.", { max: 32 }),
    defaultSiteId: ref("Default site.", "sites"),
    defaultBuildingId: ref("Default building.", "buildings"),
    defaultFloorId: ref("Default floor.", "floors"),
    defaultZoneId: ref("Default zone.", "zones"),
    defaultLocation: computed("Default location with names; null without one.", "object", {
      of: LOCATION_FIELDS,
      nullable: true,
    }),
    incidentPlanId: ref("Incident plan; the message starts an incident of it.", "incident-plans", {
      embed: "incidentPlan",
    }),
    phoneNumber: text("Phone number offered for a call.", { max: 40 }),
  },
});
