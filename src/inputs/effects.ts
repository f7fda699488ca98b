import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError, LimitError } from "../base/errors.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { By, Claim, Store } from "../store/store.ts";
import type { Effect } from "./rules.ts";
import type { Handled, InputRow } from "./steps.ts";

/** What carrying out rules needs. */
export interface EffectNeeds {
  store: Store;
  clock: Clock;
  broadcaster: Pick<Broadcaster, "sendTogether" | "abort">;
  /** Starts a scenario as the API does. Throws CallerError. */
  startScenario(input: Readonly<Record<string, unknown>>, by: By): Promise<{ id: string }>;
  by: By;
}

/** Most values of an input that fill places of a message. own choice */
const MOST_VALUES = 100;

/**
 * Does what a rule says, once however often it is asked for the same input. What the rule itself is to blame for is told
 * in words; any other fault is thrown, to be tried again.
 */
export async function carryOut(effect: Effect, input: InputRow, needs: EffectNeeds): Promise<Handled> {
  const { store, clock } = needs;
  const last = store.one<{ at: number }>("SELECT at FROM input_starts WHERE rule = ?", effect.rule.id);
  const isSame = store.once.find(claimOf(effect, input, "")) !== null;
  if (!isSame && last && clock.now() - last.at < effect.throttleMs) return { outcome: "throttled" };
  const faults: string[] = [];
  let started = false;
  for (const scenarioId of effect.scenarioIds) {
    const { outcome, reason } = await blaming(() => startScenario(scenarioId, effect, input, needs));
    if (outcome === "started") started = true;
    else if (reason) faults.push(reason);
  }
  if (started) return { outcome: "started" };
  const { message } = effect;
  // Of a scenario that could not be started, its own fault says more than that there is no message.
  if (typeof message === "string") return { outcome: "failed", reason: faults[0] ?? message };
  const sent = await blaming(() => sendMessage(message, effect, input, needs));
  return sent.outcome === "started" ? sent : { ...sent, reason: [...faults, sent.reason].join(" ") };
}

async function blaming(act: () => Promise<Handled>): Promise<Handled> {
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
  effect: Effect,
  input: InputRow,
  needs: EffectNeeds,
): Promise<Handled> {
  const { store, broadcaster, by } = needs;
  const once = claimOf(effect, input, "");
  const made = store.once.find(once)?.made;
  if (made) return { outcome: "started", notificationId: made.id };
  const { source, rule } = effect;
  const outgoing = {
    input: { ...message, ...exercise(input), customVars: placesOf(input, rule.name) },
    options: { source, overrules: true },
  };
  const [row] = await broadcaster.sendTogether([outgoing], { ...by, once }, (tx) => {
    markStart(tx, effect, input, needs);
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
  effect: Effect,
  input: InputRow,
  needs: EffectNeeds,
): Promise<Handled> {
  const { store, by } = needs;
  const once = claimOf(effect, input, scenarioId);
  if (store.once.find(once)?.made) return { outcome: "started" };
  const lookupValue = knownDevice(input.call?.callingNumber ?? input.source, store);
  const where = lookupValue === null ? {} : { initiationDevice: { type: "api-device", lookupValue } };
  await needs.startScenario({ scenarioId, ...exercise(input), ...where }, { ...by, once });
  await store.write((tx) => markStart(tx, effect, input, needs));
  return { outcome: "started" };
}

/** What an input that is only for exercise starts is told to be a drill. */
function exercise({ drill }: InputRow): { drill?: true } {
  return drill ? { drill } : {};
}

/** A drill does not hold up what is meant. */
function markStart(
  tx: { run: (sql: string, ...params: (string | number)[]) => unknown },
  { rule }: Effect,
  { drill }: InputRow,
  { clock }: EffectNeeds,
): void {
  if (!drill) tx.run("INSERT OR REPLACE INTO input_starts (rule, at) VALUES (?, ?)", rule.id, clock.now());
}

/** A source that is registered as a device says where; one that is not is no fault. */
function knownDevice(name: string, store: Store): string | null {
  const sql = "SELECT external_id AS name FROM api_devices WHERE external_id = ? COLLATE NOCASE";
  return store.one<{ name: string }>(sql, name)?.name ?? null;
}

function claimOf({ rule }: Effect, input: InputRow, part: string): Claim {
  return { owner: "inputs", key: `${input.id}/${rule.id}/${part}`, sha: "" };
}

/** Values for the places of a message: those of the input that are plain, and who told it. */
function placesOf({ details, call, source }: InputRow, rule: string): Record<string, unknown> {
  const plain = Object.entries(details).filter(([, value]) => value !== null && typeof value !== "object");
  const { callingNumber = "", calledNumber = "" } = call ?? {};
  return {
    ...Object.fromEntries(plain.slice(0, MOST_VALUES)),
    ...(call ? { callingNumber, calledNumber } : {}),
    source,
    rule,
  };
}
