import type { Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { parseTriggerInput } from "../plugin-api/trigger-input.ts";
import inputs from "../resources/inputs/inputs.ts";
import type { StoreReader } from "../store/store.ts";
import {
  callKeyOf,
  expireCalls,
  isCallOver,
  listActiveCall,
  recordRingingNotification,
  updateActiveCall,
} from "./call-tracking.ts";
import type { InputResult, InputRow } from "./input-row.ts";
import { createNumberPatterns } from "./number-patterns.ts";
import { executeRuleAction, type RuleActionDeps } from "./rule-execution.ts";
import { findRuleActions, type RuleAction } from "./rule-matching.ts";

/** What inputs are taken with. */
export interface InputDeps extends RuleActionDeps {
  log: Log;
  /** This appliance. */
  endpointId(): string;
}

/** Inputs from outside, and what they start. */
export interface Inputs {
  /** Stores what a plugin told; resolves when it is stored. A repeat within a day does nothing. Throws CallerError. */
  enqueue(plugin: string, input: unknown): Promise<void>;
  /** Takes up what an earlier run left, then what comes. */
  start(): void;
  stop(): Promise<void>;
}

/** @source plugin-api, TriggerInput: repeats within a day start nothing. */
const DAY_MS = 86_400_000;
/** What was found later warns nobody any more. own choice */
const MAX_INPUT_AGE_MS = 3_600_000;
/** How long inputs are listed. own choice */
const RETENTION_MS = 7 * DAY_MS;
const PURGE_INTERVAL_MS = 600_000;
const PURGE_CHUNK_SIZE = 1_000;
const RETRY_DELAY_MS = 5_000;
const MAX_REASON_LENGTH = 1_000;

/** Makes the room; what is taken before `start` waits for it. */
export function createInputs(needs: InputDeps): Inputs {
  const { store, clock, log, by } = needs;
  const patterns = createNumberPatterns();
  let isStarted = false;
  let hasWork = false;
  let running: Promise<void> | null = null;
  let retryTimer: Timer | null = null;
  let purgeTimer: Timer | null = null;

  /** One input after the other, so that the steps of a call keep their order; one that fails holds up nobody. */
  const processQueue = async (): Promise<void> => {
    while (hasWork && isStarted) {
      hasWork = false;
      let failed = false;
      for (let last = 0; isStarted; ) {
        const input = nextPendingInput(store, last);
        if (!input) break;
        last = input.pk;
        try {
          await finish(input, await handle(input));
        } catch (error) {
          failed = true;
          log.error({ err: error, inputId: input.id }, "an input could not be taken up");
        }
      }
      if (failed && isStarted) retryTimer ??= clock.after(RETRY_DELAY_MS, retry, { background: true });
    }
  };
  const wake = (): void => {
    hasWork = true;
    if (!isStarted || running !== null) return;
    running = processQueue().finally(() => {
      running = null;
      if (hasWork) wake();
    });
  };
  const retry = (): void => {
    retryTimer = null;
    wake();
  };

  async function handle(input: InputRow): Promise<InputResult> {
    const { call } = input;
    if (call && call.state !== "ringing") {
      await updateActiveCall(input, needs);
      return { outcome: "followed" };
    }
    if (clock.now() - input.createdAt > MAX_INPUT_AGE_MS)
      return { outcome: "late", reason: "It was found after an hour." };
    const effects = await findRuleActions(input, { ...needs, patterns });
    await listActiveCall(input, effects, needs);
    const results: InputResult[] = [];
    for (const effect of effects) results.push(await executeAction(effect, input));
    return summarizeResults(results);
  }

  async function executeAction(effect: RuleAction, input: InputRow): Promise<InputResult> {
    if (effect.ringsUntilAnswered && isCallOver(input, store)) return { outcome: "late", reason: "The call was over." };
    const handled = await executeRuleAction(effect, input, needs);
    if (handled.outcome === "failed")
      log.warn({ ...effect.rule, source: input.source, reason: handled.reason }, "an input started nothing");
    if (effect.ringsUntilAnswered && handled.notificationId && input.callKey)
      await recordRingingNotification(input.callKey, handled.notificationId, needs);
    return handled;
  }

  const finish = (input: InputRow, { outcome, reason, notificationId }: InputResult): Promise<void> =>
    store.write(
      (tx) =>
        void tx.update(inputs, input.id, {}, by, {
          outcome,
          reason: reason?.slice(0, MAX_REASON_LENGTH) ?? null,
          notificationId: notificationId ?? null,
          handledAt: clock.now(),
          pin: null,
        }),
    );

  const purge = (): void => {
    const before = clock.now() - RETENTION_MS;
    const old = `SELECT pk FROM inputs WHERE created_at < ? LIMIT ${PURGE_CHUNK_SIZE}`;
    Promise.all([
      store.write((tx) => void tx.run(`DELETE FROM main.inputs WHERE pk IN (${old})`, before)),
      expireCalls(needs),
    ]).catch((error: unknown) => log.error({ err: error }, "old inputs were not cleared away"));
  };

  return {
    async enqueue(plugin, given) {
      const { source, dedupeKey, values, drill = false, call } = parseTriggerInput(given);
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
      isStarted = true;
      purgeTimer = clock.every(PURGE_INTERVAL_MS, purge);
      purge();
      wake();
    },
    async stop() {
      isStarted = false;
      purgeTimer?.cancel();
      retryTimer?.cancel();
      await running;
    },
  };
}

function nextPendingInput(reader: StoreReader, after: number): InputRow | null {
  const sql = "SELECT pk FROM inputs WHERE outcome = 'waiting' AND pk > ? ORDER BY pk LIMIT 1";
  const next = reader.one<{ pk: number }>(sql, after);
  return next ? (reader.getByPk(inputs, next.pk) as InputRow | null) : null;
}

/** The best that became of it stands for the whole; every fault is told. */
function summarizeResults(results: readonly InputResult[]): InputResult {
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
