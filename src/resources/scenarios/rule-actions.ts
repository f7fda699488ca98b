import { computed, json, object, option, ref, secret, text, uuid } from "../../schema/field.ts";
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
      "The action: a call of `webhook.url`, signed according to Standard Webhooks. The key is returned when the secret of the trigger is rotated.",
      {
        type: option("Type of action.", ["webhook"], { default: "webhook" }),
        webhook: object("The webhook.", {
          url: text("URL to call.", { format: "url", max: 1_000 }),
          method: option("Method of the call; default: POST.", ["POST", "PUT", "PATCH", "GET", "DELETE"]),
          headers: json(
            'Further request headers as an object, or a list of `{name, value}`, at most 20. Values are returned as "[secret]"; sent back unchanged, they are kept.',
            { maxBytes: 4_096 },
          ),
          body: json(
            "Body instead of the event: JSON, or text. In its strings `{{type}}`, `{{timestamp}}`, `{{scenario}}` (its name) and members of the event such as `{{data.row.id}}` are filled in.",
            { maxBytes: 10_000 },
          ),
          authorization: json(
            'Authorization header: its text, `{type: "basic", username, password}` or `{type: "bearer", token}`. Returned as "[secret]"; sent back unchanged, it is kept.',
            { maxBytes: 4_096 },
          ),
        }),
      },
      { required: true },
    ),
    headers: secret("Headers of the call; given as `action.webhook.headers`.", {
      max: 4_096,
      boundTo: ["action.webhook.url"],
    }),
    authorization: secret("Authorization header of the call; given as `action.webhook.authorization`.", {
      max: 4_096,
      boundTo: ["action.webhook.url"],
    }),
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
