import { invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type ruleActions from "../resources/scenarios/rule-actions.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import triggers from "../resources/webhooks/triggers.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";
import { separateSecrets } from "./rule-action-request.ts";
import { assertUrlAllowed } from "./trigger-hooks.ts";
import { generateWebhookSecret } from "./webhook-signature.ts";

type RuleAction = RowOf<typeof ruleActions>;

const START_SPEC = "/scenario-notifications/*";

/** Each rule action owns a trigger that is created, updated and deleted with it. */
export function ruleActionHooks(policy: SsrfGuard): ResourceHooks<typeof ruleActions> {
  return {
    async prepare(input) {
      for (const name of ["headers", "authorization"])
        if (input[name]) throw invalidValue(name, sentence("field.must-be-given-as-action-webhook-name", { name }));
      const { webhook } = (input.action ?? {}) as { webhook?: Record<string, unknown> | null };
      if (typeof webhook !== "object" || webhook === null) return;
      if (typeof webhook.url === "string") await assertUrlAllowed(webhook.url, policy);
      Object.assign(input, separateSecrets(webhook));
    },
    beforeWrite({ before, after }, tx, by) {
      if (!after) return;
      const url = urlOf(after);
      const scenarioName = tx.get(scenarios, after.scenarioId)?.name ?? "Scenario";
      if (before === null) {
        after.name ??= scenarioName;
        after.triggerId = triggerOf(after, url, tx, by);
      } else if (after.triggerId && (before.name !== after.name || urlOf(before) !== url)) {
        tx.update(triggers, after.triggerId, { name: after.name ?? scenarioName, url }, triggerActor(by));
      }
    },
    afterWrite({ op, before }, tx, by) {
      if (op === "delete" && before?.triggerId) tx.remove(triggers, before.triggerId, triggerActor(by));
    },
    present(rows, { reader, query }) {
      const withNames = query.includeMatchingResources === true;
      const names = withNames ? namesOf(rows, reader) : null;
      return rows.map(({ scenarioId }) => ({
        rule: { event: "scenario-notifications.created", scenarioId },
        ...(names
          ? {
              ruleResources: [{ type: "scenario", resource: { id: scenarioId, name: names.get(scenarioId) ?? null } }],
              actionResources: [],
            }
          : {}),
      }));
    },
  };
}

function urlOf({ action }: Pick<RuleAction, "action">): string {
  const { type, webhook } = action;
  if (type !== undefined && type !== null && type !== "webhook")
    throw invalidValue("action.type", sentence("field.must-be-webhook"));
  const url = (webhook as { url?: string | null } | null | undefined)?.url;
  if (!url) throw requiredValue("action.webhook.url");
  return url;
}

/** The trigger has the id of its action. */
function triggerOf({ id, name, scenarioId }: RuleAction, url: string, tx: Transaction, by: ActorContext): string {
  const input = { name, url, spec: START_SPEC, type: "webhook", secret: generateWebhookSecret() };
  return tx.create(triggers, input, triggerActor(by), { id, scenarioId }).id;
}

/** Without the idempotency claim: it belongs to the action, not to the trigger. */
function triggerActor({ actor, scope }: ActorContext): ActorContext {
  return { actor, scope };
}

function namesOf(rows: readonly RuleAction[], reader: StoreReader): ReadonlyMap<string, string> {
  const found = reader.all<{ id: string; name: string }>(
    "SELECT id, name FROM scenarios WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ scenarioId }) => scenarioId))]),
  );
  return new Map(found.map(({ id, name }) => [id, name]));
}
