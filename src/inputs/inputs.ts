import type { Timer } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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

export interface InputDeps extends RuleActionDeps {
  log: Log;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Inputs from outside (calls, contacts, machines) and the rules that they trigger. */
export interface Inputs {
  /** Stores an input of a plugin; resolves once stored. Idempotent within a day. Throws CallerError. */
  enqueue(plugin: string, input: unknown): Promise<void>;
  /** As `enqueue`; resolves with the outcome once the input is processed. */
  process(plugin: string, input: unknown): Promise<InputResult>;
  /** Resumes pending inputs, then processes new ones. */
  start(): void;
  stop(): Promise<void>;
}

/** Repeats within a day are ignored. @source docs/decisions/0018-plugin-api.md */
const DAY_MS = 86_400_000;
/** Older inputs are not processed. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
const MAX_INPUT_AGE_MS = 3_600_000;
/** Retention of inputs. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
const RETENTION_MS = 7 * DAY_MS;
const PURGE_INTERVAL_MS = 600_000;
const PURGE_CHUNK_SIZE = 1_000;
const RETRY_DELAY_MS = 5_000;
const MAX_REASON_LENGTH = 1_000;

/** Inputs enqueued before `start` wait for it. */
export function createInputs(deps: InputDeps): Inputs {
  const { store, clock, log, by } = deps;
  const patterns = createNumberPatterns();
  /** Callers of `process`, by the id of their input. */
  const waiting = new Map<string, (result: InputResult) => void>();
  let isStarted = false;
  let hasWork = false;
  let running: Promise<void> | null = null;
  let retryTimer: Timer | null = null;
  let purgeTimer: Timer | null = null;

  /** Processes inputs one by one, so that the states of a call keep their order; a failed input does not block the others. */
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
          log.error(
            { event: "input.processing_failed", err: error, inputId: input.id },
            "failed to process an input, retrying",
          );
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
      await updateActiveCall(input, deps);
      return { outcome: "followed" };
    }
    if (clock.now() - input.createdAt > MAX_INPUT_AGE_MS) return { outcome: "late", reason: sentence("input.late") };
    const effects = await findRuleActions(input, { ...deps, patterns });
    await listActiveCall(input, effects, deps);
    const results: InputResult[] = [];
    for (const effect of effects) results.push(await executeAction(effect, input));
    return summarizeResults(results);
  }

  async function executeAction(effect: RuleAction, input: InputRow): Promise<InputResult> {
    if (effect.ringsUntilAnswered && isCallOver(input, store))
      return { outcome: "late", reason: sentence("input.call-over") };
    const handled = await executeRuleAction(effect, input, deps);
    if (handled.outcome === "failed")
      log.warn(
        { event: "input.action_failed", ...effect.rule, source: input.source, reason: handled.reason },
        "input rule failed",
      );
    if (effect.ringsUntilAnswered && handled.notificationId && input.callKey)
      await recordRingingNotification(input.callKey, handled.notificationId, deps);
    return handled;
  }

  const finish = async (input: InputRow, result: InputResult): Promise<void> => {
    const { outcome, reason, notificationId } = result;
    await store.write(
      (tx) =>
        void tx.update(inputs, input.id, {}, by, {
          outcome,
          reason: reason?.slice(0, MAX_REASON_LENGTH) ?? null,
          notificationId: notificationId ?? null,
          handledAt: clock.now(),
          pin: null,
        }),
    );
    waiting.get(input.id)?.(result);
    waiting.delete(input.id);
  };

  const purge = (): void => {
    const before = clock.now() - RETENTION_MS;
    const old = `SELECT pk FROM inputs WHERE created_at < ? LIMIT ${PURGE_CHUNK_SIZE}`;
    Promise.all([
      store.write((tx) => void tx.run(`DELETE FROM main.inputs WHERE pk IN (${old})`, before)),
      expireCalls(deps),
    ]).catch((error: unknown) => log.error({ event: "input.purge_failed", err: error }, "failed to purge old inputs"));
  };

  /** Stores an input; false if it is a repetition. */
  const storeInput = (plugin: string, given: unknown, id: string): Promise<boolean> => {
    const { source, dedupeKey, values, drill = false, call } = parseTriggerInput(given);
    return store.write((tx) => {
      const same = "SELECT 1 FROM inputs WHERE dedupe_key = ? AND plugin = ? AND created_at > ?";
      if (tx.one(same, dedupeKey, plugin, clock.now() - DAY_MS)) return false;
      const { pin, ...publicCall } = call ?? {};
      tx.create(inputs, {}, by, {
        ...{ id, plugin, source, dedupeKey, drill, details: values },
        pin: pin === undefined ? null : store.secrets.seal(pin),
        ...(call ? { call: publicCall, callKey: callKeyOf(plugin, source, call.callId) } : {}),
      });
      return true;
    }, "emergency");
  };

  return {
    async enqueue(plugin, given) {
      if (await storeInput(plugin, given, newId())) wake();
    },
    async process(plugin, given) {
      const id = newId();
      const processed = new Promise<InputResult>((resolve) => void waiting.set(id, resolve));
      try {
        if (await storeInput(plugin, given, id)) wake();
        else return { outcome: "nothing" };
        return await processed;
      } finally {
        waiting.delete(id);
      }
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
      for (const resolve of waiting.values()) resolve({ outcome: "late", reason: sentence("input.stopping") });
    },
  };
}

function nextPendingInput(reader: StoreReader, after: number): InputRow | null {
  const sql = "SELECT pk FROM inputs WHERE outcome = 'waiting' AND pk > ? ORDER BY pk LIMIT 1";
  const next = reader.one<{ pk: number }>(sql, after);
  return next ? (reader.getByPk(inputs, next.pk) as InputRow | null) : null;
}

/** The best outcome counts for all; the reasons of every failure are kept. */
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
