import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, LimitError } from "../lib/errors.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { ActorContext, IdempotencyClaim, Store } from "../store/store.ts";
import type { InputResult, InputRow } from "./input-row.ts";
import type { RuleAction } from "./rule-matching.ts";

export interface RuleActionDeps {
  store: Store;
  clock: Clock;
  notificationService: Pick<NotificationService, "sendBatch" | "abort">;
  /** Starts a scenario as the API does. Throws CallerError. */
  startScenario(input: Readonly<Record<string, unknown>>, by: ActorContext): Promise<{ id: string }>;
  by: ActorContext;
}

/** Most values of an input that fill the variables of a template. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
const MAX_TEMPLATE_VALUES = 100;

/**
 * Runs the action of a rule; idempotent per input. Errors of the rule itself are returned as the reason; other errors are
 * thrown and retried.
 */
export async function executeRuleAction(
  effect: RuleAction,
  input: InputRow,
  deps: RuleActionDeps,
): Promise<InputResult> {
  const { store, clock } = deps;
  const last = store.one<{ at: number }>("SELECT at FROM input_rule_starts WHERE rule = ?", effect.rule.id);
  const isSame = store.idempotency.find(idempotencyClaimOf(effect, input, "")) !== null;
  if (!isSame && last && clock.now() - last.at < effect.throttleMs) return { outcome: "throttled" };
  const failures: string[] = [];
  let started = false;
  for (const scenarioId of effect.scenarioIds) {
    const { outcome, reason } = await catchRuleErrors(() => startScenario(scenarioId, effect, input, deps));
    if (outcome === "started") started = true;
    else if (reason) failures.push(reason);
  }
  if (started) return { outcome: "started" };
  const { message } = effect;
  // If a scenario could not be started, its error says more than the missing message.
  if (typeof message === "string") return { outcome: "failed", reason: failures[0] ?? message };
  const sent = await catchRuleErrors(() => sendMessage(message, effect, input, deps));
  return sent.outcome === "started" ? sent : { ...sent, reason: [...failures, sent.reason].join(" ") };
}

async function catchRuleErrors(act: () => Promise<InputResult>): Promise<InputResult> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError || error instanceof LimitError)
      return { outcome: "failed", reason: error.message };
    throw error;
  }
}

async function sendMessage(
  message: Record<string, unknown>,
  effect: RuleAction,
  input: InputRow,
  deps: RuleActionDeps,
): Promise<InputResult> {
  const { store, notificationService, by } = deps;
  const idempotencyClaim = idempotencyClaimOf(effect, input, "");
  const made = store.idempotency.find(idempotencyClaim)?.createdRow;
  if (made) return { outcome: "started", notificationId: made.id };
  const { source, rule } = effect;
  const outgoing = {
    input: { ...message, ...drillFlag(input), customVars: templateVariables(input, rule.name) },
    options: { source, overrules: true },
  };
  const [row] = await notificationService.sendBatch([outgoing], { ...by, idempotencyClaim }, (tx) => {
    recordRuleStart(tx, effect, input, deps);
    return {
      initiationSourceType: rule.resource,
      initiationSourceId: rule.id,
      initiationSourceDescription: `${rule.name} (${input.source})`.slice(0, 255),
    };
  });
  return row ? { outcome: "started", notificationId: row.id } : { outcome: "failed" };
}

async function startScenario(
  scenarioId: string,
  effect: RuleAction,
  input: InputRow,
  deps: RuleActionDeps,
): Promise<InputResult> {
  const { store, by } = deps;
  const idempotencyClaim = idempotencyClaimOf(effect, input, scenarioId);
  if (store.idempotency.find(idempotencyClaim)?.createdRow) return { outcome: "started" };
  const lookupValue = findApiDeviceName(input.call?.callingNumber ?? input.source, store);
  const where = lookupValue === null ? {} : { initiationDevice: { type: "api-device", lookupValue } };
  await deps.startScenario({ scenarioId, ...drillFlag(input), ...where }, { ...by, idempotencyClaim });
  await store.write((tx) => recordRuleStart(tx, effect, input, deps));
  return { outcome: "started" };
}

/** An input marked as a drill starts drills. */
function drillFlag({ drill }: InputRow): { drill?: true } {
  return drill ? { drill } : {};
}

/** A drill does not throttle real alarms. */
function recordRuleStart(
  tx: { run: (sql: string, ...params: (string | number)[]) => unknown },
  { rule }: RuleAction,
  { drill }: InputRow,
  { clock }: RuleActionDeps,
): void {
  if (!drill) tx.run("INSERT OR REPLACE INTO input_rule_starts (rule, at) VALUES (?, ?)", rule.id, clock.now());
}

/** Location name of a source that is registered as an API device; null if it is not. */
function findApiDeviceName(name: string, store: Store): string | null {
  const sql = "SELECT external_id AS name FROM api_devices WHERE external_id = ? COLLATE NOCASE";
  return store.one<{ name: string }>(sql, name)?.name ?? null;
}

function idempotencyClaimOf({ rule }: RuleAction, input: InputRow, part: string): IdempotencyClaim {
  return { owner: "inputs", key: `${input.id}/${rule.id}/${part}`, requestHash: "" };
}

/** Template variables: the scalar values of the input and its source. */
function templateVariables({ details, call, source }: InputRow, rule: string): Record<string, unknown> {
  const plain = Object.entries(details).filter(([, value]) => value !== null && typeof value !== "object");
  const { callingNumber = "", calledNumber = "" } = call ?? {};
  return {
    ...Object.fromEntries(plain.slice(0, MAX_TEMPLATE_VALUES)),
    ...(call ? { callingNumber, calledNumber } : {}),
    source,
    rule,
  };
}
