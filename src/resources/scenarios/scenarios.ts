import { boolean, computed, json, many, object, option, ref, secret, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOCATION_FIELDS } from "./location-fields.ts";

/**
 * Situations made ready: questions, messages, a location.
 * @source service-api.md, Scenario location attributes and Versioning 4; decisions.md 7; digest `/v1/scenarios`
 */
export default defineResource({
  name: "scenarios",
  doc: "A situation made ready: whoever starts it answers its questions, and its messages are sent.",
  paths: [{ at: "scenarios" }],
  idParam: "scenarioId",
  scope: "domain",
  replicate: "B",
  clone: {},
  fields: {
    name: text("What people call the scenario.", { required: true, min: 1, max: 70 }),
    isShared: boolean("Domains below the scenario's own see it too.", { default: false }),
    description: text("When to use it.", { max: 140 }),
    icon: text("Name of its picture.", { max: 60 }),
    backgroundColor: text("Colour of its tile.", { required: true, format: "color", max: 7 }),
    type: option("What starts it.", ["standard", "panic-button", "integration"], { required: true }),
    emergency: boolean("It is offered on the emergency sheet and sent as critical.", { default: false }),
    confirmationType: option("What whoever starts it must do once more.", ["none", "pin", "prompt"], {
      default: "none",
    }),
    confirmationPin: secret("Number that must be given to start it. own choice: 4 to 12 digits, never read back.", {
      max: 12,
    }),
    customConfirm: text("Question that is asked before the start.", { max: 255 }),
    fields: json(
      "Questions, in order of their rank: `[{id, name, variable, type, options, rank, required}]`; variables begin with a letter and have 3 to 32 letters, digits and underscores. own choice: at most 50; a question about the site with the fixed id is reported for scenarios with a location and is not stored.",
      { maxBytes: 262_144, default: [] },
    ),
    messages: json(
      "Messages that are sent: `[{id, name, messageTemplateId, subject, body, ttsCustomContent, confirmationRequestId, siteRoleIds}]`; read with `messageTemplate` and `siteRoles`. own choice: 1 to 50.",
      { required: true, maxBytes: 1_048_576 },
    ),
    messageTemplateIds: many("Templates of its messages, which can't be deleted while they are.", "message-templates", {
      readOnly: true,
      dependents: "scenario",
      onDelete: "refuse",
    }),
    confirmationRequestIds: many("Confirmation requests of its messages.", "confirmation-requests", { readOnly: true }),
    siteRoleIds: many("Roles that its messages go to.", "site-roles", { readOnly: true }),
    instructions: object("What whoever started it does next.", {
      step1: text("First step.", { max: 255 }),
      step2: text("Second step.", { max: 255 }),
      step3: text("Third step.", { max: 255 }),
      step4: text("Fourth step.", { max: 255 }),
      step5: text("Fifth step.", { max: 255 }),
    }),
    locationEnabled: boolean("The scenario has a location.", { default: false }),
    locationQuestionName: text("Words that ask for the location. own choice: `Location` when there are none.", {
      max: 255,
    }),
    locationVariable: text(
      "Variable that holds a summary of the location. own choice: `location` when there is none.",
      { max: 32 },
    ),
    defaultSiteId: ref("Site when none is given.", "sites"),
    defaultBuildingId: ref("Building when none is given.", "buildings"),
    defaultFloorId: ref("Floor when none is given.", "floors"),
    defaultZoneId: ref("Zone when none is given.", "zones"),
    defaultLocation: computed("The defaults with their names; null without one.", "object", {
      of: LOCATION_FIELDS,
      nullable: true,
    }),
    incidentPlanId: ref("Plan whose incident it starts.", "incident-plans", { embed: "incidentPlan" }),
    phoneNumber: text("Number that is offered to be called.", { max: 40 }),
  },
});
