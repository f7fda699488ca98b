import { computed, object, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const ROW = { id: uuid("Id."), name: text("Name.") };
const MATCHING = {
  of: {
    type: option("Resource type.", ["scenario"]),
    resource: computed("The resource.", "object", { of: ROW }),
  },
  when: "includeMatchingResources",
};

/**
 * Webhooks of scenario starts. The calls, retries and logs are those of a trigger.
 * @source docs/decisions/0042-api-contract.md, `/v1/scenarios/{scenarioId}/rule-actions`, `/v1/rule-actions`
 */
export default defineResource({
  name: "rule-actions",
  doc: "A webhook that is called when a scenario is started.",
  paths: [{ at: "scenarios/{scenarioId}/rule-actions" }, { at: "rule-actions", methods: ["get"] }],
  idParam: "ruleActionId",
  scope: "parent",
  replicate: "B",
  limit: { most: 10, per: "scenarioId" },
  fields: {
    scenarioId: ref("The scenario; at most 10 actions per scenario.", "scenarios", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Name; default: the name of the scenario.", { min: 1, max: 140 }),
    description: text("Purpose.", { max: 255 }),
    action: object(
      "The action: a POST to `webhook.url`, signed according to Standard Webhooks. The key is returned when the secret of the trigger is rotated.",
      {
        type: option("Type of action.", ["webhook"], { default: "webhook" }),
        webhook: object("The webhook.", {
          url: text("URL to call.", { format: "url", max: 1_000 }),
          method: option("Method of the call.", ["POST"]),
        }),
      },
      { required: true },
    ),
    actionType: option("Type of action.", ["webhook"], { readOnly: true, default: "webhook" }),
    ruleSourceType: option("Type of the source.", ["scenario"], { readOnly: true, default: "scenario" }),
    triggerId: ref("Trigger that makes the calls and logs them.", "triggers", {
      readOnly: true,
      onDelete: "refuse",
    }),
    rule: computed("Condition of the action.", "object", {
      of: { event: text("Event."), scenarioId: uuid("The scenario.") },
    }),
    ruleResources: computed("Resources of the rule; returned with includeMatchingResources.", "array", MATCHING),
    actionResources: computed(
      "Resources of the action; empty for a webhook; returned with includeMatchingResources.",
      "array",
      MATCHING,
    ),
  },
});
