import { computed, object, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const ROW = { id: uuid("Its id."), name: text("Its name.") };
const MATCHING = {
  of: {
    type: option("Of what kind it is.", ["scenario"]),
    resource: computed("It.", "object", { of: ROW }),
  },
  when: "includeMatchingResources",
};

/**
 * What else follows when a scenario is started. The call itself is a trigger's, with its repetitions and its diary.
 * @source digest `/v1/scenarios/{scenarioId}/rule-actions`, `/v1/rule-actions`; own choice: what an action and a rule hold
 */
export default defineResource({
  name: "rule-actions",
  doc: "A web address that is called when a scenario is started.",
  paths: [{ at: "scenarios/{scenarioId}/rule-actions" }, { at: "rule-actions", methods: ["get"] }],
  idParam: "ruleActionId",
  scope: "parent",
  replicate: "B",
  limit: { most: 10, per: "scenarioId" },
  fields: {
    scenarioId: ref("Scenario whose start it follows. own choice: at most 10 actions each.", "scenarios", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("What people call it. own choice: the scenario's name unless given.", { min: 1, max: 140 }),
    description: text("Purpose.", { max: 255 }),
    action: object(
      "What is done: a POST to `webhook.url`, signed as Standard Webhooks says; the key is told when that of the trigger is changed.",
      {
        type: option("Kind of action.", ["webhook"], { default: "webhook" }),
        webhook: object("The call.", { url: text("Address that is called.", { format: "url", max: 1_000 }) }),
      },
      { required: true },
    ),
    actionType: option("Kind of action.", ["webhook"], { readOnly: true, default: "webhook" }),
    ruleSourceType: option("Kind of what it follows.", ["scenario"], { readOnly: true, default: "scenario" }),
    triggerId: ref("Trigger that makes the calls and keeps their diary.", "triggers", {
      readOnly: true,
      onDelete: "refuse",
    }),
    rule: computed("When it is done.", "object", {
      of: { event: text("What happens."), scenarioId: uuid("Scenario that it happens to.") },
    }),
    ruleResources: computed("What the rule names; returned with includeMatchingResources.", "array", MATCHING),
    actionResources: computed(
      "What the action names, which is nothing for a call; returned with includeMatchingResources.",
      "array",
      MATCHING,
    ),
  },
});
