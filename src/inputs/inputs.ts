import type { Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { readTrigger } from "../plugin-api/trigger-input.ts";
import inputs from "../resources/inputs/inputs.ts";
import type { Reader } from "../store/store.ts";
import { callKeyOf, followCall, forgetCalls, isOver, listCall, rememberRing } from "./calls.ts";
import { carryOut, type EffectNeeds } from "./effects.ts";
import { createNumberPatterns } from "./number-patterns.ts";
import { type Effect, findEffects } from "./rules.ts";
import type { Handled, InputRow } from "./steps.ts";

/** What inputs are taken with. */
export interface InputNeeds extends EffectNeeds {
  log: Log;
  /** This appliance. */
  endpointId(): string;
}

/** Inputs from outside, and what they start. */
export interface Inputs {
  /** Stores what a plugin told; resolves when it is stored. A repeat within a day does nothing. Throws CallerError. */
  take(plugin: string, input: unknown): Promise<void>;
  /** Takes up what an earlier run left, then what comes. */
  start(): void;
  stop(): Promise<void>;
}

/** @source plugin-api, TriggerInput: repeats within a day start nothing. */
const DAY_MS = 86_400_000;
/** What was found later warns nobody any more. own choice */
const OF_USE_MS = 3_600_000;
/** How long inputs are listed. own choice */
const KEPT_MS = 7 * DAY_MS;
const FORGET_EVERY_MS = 600_000;
const FORGOTTEN_AT_ONCE = 1_000;
const TRY_AGAIN_MS = 5_000;
const LONGEST_REASON = 1_000;

/** Makes the room; what is taken before `start` waits for it. */
export function createInputs(needs: InputNeeds): Inputs {
  const { store, clock, log, by } = needs;
  const patterns = createNumberPatterns();
  let ready = false;
  let asked = false;
  let running: Promise<void> | null = null;
  let again: Timer | null = null;
  let forgetting: Timer | null = null;

  /** One input after the other, so that the steps of a call keep their order; one that fails holds up nobody. */
  const run = async (): Promise<void> => {
    while (asked && ready) {
      asked = false;
      let failed = false;
      for (let last = 0; ready; ) {
        const input = nextWaiting(store, last);
        if (!input) break;
        last = input.pk;
        try {
          await finish(input, await handle(input));
        } catch (error) {
          failed = true;
          log.error({ err: error, inputId: input.id }, "an input could not be taken up");
        }
      }
      if (failed && ready) again ??= clock.after(TRY_AGAIN_MS, retry, { background: true });
    }
  };
  const wake = (): void => {
    asked = true;
    if (!ready || running !== null) return;
    running = run().finally(() => {
      running = null;
      if (asked) wake();
    });
  };
  const retry = (): void => {
    again = null;
    wake();
  };

  async function handle(input: InputRow): Promise<Handled> {
    const { call } = input;
    if (call && call.state !== "ringing") {
      await followCall(input, needs);
      return { outcome: "followed" };
    }
    if (clock.now() - input.createdAt > OF_USE_MS) return { outcome: "late", reason: "It was found after an hour." };
    const effects = await findEffects(input, { ...needs, patterns });
    await listCall(input, effects, needs);
    const results: Handled[] = [];
    for (const effect of effects) results.push(await act(effect, input));
    return summary(results);
  }

  async function act(effect: Effect, input: InputRow): Promise<Handled> {
    if (effect.rings && isOver(input, store)) return { outcome: "late", reason: "The call was over." };
    const handled = await carryOut(effect, input, needs);
    if (handled.outcome === "failed")
      log.warn({ ...effect.rule, source: input.source, reason: handled.reason }, "an input started nothing");
    if (effect.rings && handled.notificationId && input.callKey)
      await rememberRing(input.callKey, handled.notificationId, needs);
    return handled;
  }

  const finish = (input: InputRow, { outcome, reason, notificationId }: Handled): Promise<void> =>
    store.write(
      (tx) =>
        void tx.update(inputs, input.id, {}, by, {
          outcome,
          reason: reason?.slice(0, LONGEST_REASON) ?? null,
          notificationId: notificationId ?? null,
          handledAt: clock.now(),
          pin: null,
        }),
    );

  const forget = (): void => {
    const before = clock.now() - KEPT_MS;
    const old = `SELECT pk FROM inputs WHERE created_at < ? LIMIT ${FORGOTTEN_AT_ONCE}`;
    Promise.all([
      store.write((tx) => void tx.run(`DELETE FROM main.inputs WHERE pk IN (${old})`, before)),
      forgetCalls(needs),
    ]).catch((error: unknown) => log.error({ err: error }, "old inputs were not cleared away"));
  };

  return {
    async take(plugin, given) {
      const { source, dedupeKey, values, drill = false, call } = readTrigger(given);
      const stored = await store.write((tx) => {
        const same = "SELECT 1 FROM inputs WHERE dedupe_key = ? AND plugin = ? AND created_at > ?";
        if (tx.one(same, dedupeKey, plugin, clock.now() - DAY_MS)) return false;
        const { pin, ...told } = call ?? {};
        tx.create(inputs, {}, by, {
          ...{ plugin, source, dedupeKey, drill, details: values },
          pin: pin === undefined ? null : store.secrets.seal(pin),
          ...(call ? { call: told, callKey: callKeyOf(plugin, source, call.callId) } : {}),
        });
        return true;
      }, "emergency");
      if (stored) wake();
    },
    start() {
      ready = true;
      forgetting = clock.every(FORGET_EVERY_MS, forget);
      forget();
      wake();
    },
    async stop() {
      ready = false;
      forgetting?.cancel();
      again?.cancel();
      await running;
    },
  };
}

function nextWaiting(reader: Reader, after: number): InputRow | null {
  const sql = "SELECT pk FROM inputs WHERE outcome = 'waiting' AND pk > ? ORDER BY pk LIMIT 1";
  const next = reader.one<{ pk: number }>(sql, after);
  return next ? (reader.byPk(inputs, next.pk) as InputRow | null) : null;
}

/** The best that became of it stands for the whole; every fault is told. */
function summary(results: readonly Handled[]): Handled {
  const best = (["started", "throttled", "late", "failed"] as const).find((outcome) =>
    results.some((each) => each.outcome === outcome),
  );
  if (!best) return { outcome: "nothing" };
  const notificationId = results.find((each) => each.notificationId)?.notificationId;
  const reasons = results.flatMap(({ reason }) => (reason ? [reason] : []));
  return {
    outcome: best,
    ...(notificationId ? { notificationId } : {}),
    ...(reasons.length > 0 ? { reason: reasons.join(" ") } : {}),
  };
}
