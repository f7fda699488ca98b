import type { Timer } from "../../lib/clock.ts";
import { invalidValue } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { VoiceCalls } from "../../notifications/engine/voice-calls.ts";
import type { AudioCodec, DialledCall, DialResult, VoiceTarget } from "../../plugin-api/index.ts";
import type { DialcastMatch } from "../dialcast-message.ts";
import { createNumberPatterns } from "../number-patterns.ts";
import { findDialledConfigurations } from "../rule-matching.ts";
import { CallSession } from "./call-session.ts";
import { DIALOGUES, type DialogueDeps, isConfigurationError } from "./dialogues.ts";
import { askPin } from "./pin-dialogue.ts";
import { createPinThrottle } from "./pin-throttle.ts";

/** Calls to the appliance: a number decides, by the dialcast dialing configurations, what the caller can do. */
export interface PhoneCalls {
  /** Announces a call before it is answered. Throws CallerError. */
  dial(plugin: string, call: unknown): Promise<DialResult>;
  /** The call is answered, or its media changed; null while it is held. Throws CallerError, UpstreamError. */
  connect(plugin: string, callId: string, target: VoiceTarget | null): Promise<void>;
  hear(plugin: string, callId: string, codec: AudioCodec, payload: Uint8Array): void;
  press(plugin: string, callId: string, key: string): void;
  /** The caller hung up. */
  end(plugin: string, callId: string): void;
  /** Ends all calls. */
  stop(): void;
}

export interface PhoneCallsDeps extends Omit<DialogueDeps, "pinThrottle"> {
  events: Events;
  voice: Pick<VoiceCalls, "open" | "play" | "close">;
  /** Ends a call in the channel that carries it. */
  hangUp(plugin: string, callId: string): void;
}

/** Calls at once; each may be heard by thousands of devices. */
const MAX_CALLS = 200;
/** A call that is not answered by then, or that lasts longer, is dropped. */
const CONNECT_TIMEOUT_MS = 60_000;
const MAX_CALL_MS = 1_800_000;
const MAX_TEXT = 255;
const MAX_NUMBER = 50;

interface OpenCall {
  session: CallSession;
  match: DialcastMatch;
  timer: Timer;
  isConnected: boolean;
}

export function createPhoneCalls(given: PhoneCallsDeps): PhoneCalls {
  const { clock, log, events } = given;
  const patterns = createNumberPatterns();
  const deps: DialogueDeps = { ...given, pinThrottle: createPinThrottle(clock) };
  const calls = new Map<string, OpenCall>();
  const keyOf = (plugin: string, callId: string): string => `${plugin} ${callId}`;

  const close = (plugin: string, callId: string): boolean => {
    const open = calls.get(keyOf(plugin, callId));
    if (!open) return false;
    calls.delete(keyOf(plugin, callId));
    open.timer.cancel();
    open.session.end();
    return true;
  };
  const hangUp = (plugin: string, callId: string): void => {
    if (close(plugin, callId)) given.hangUp(plugin, callId);
  };
  const stopListening = events.on("plugin.changed", ({ plugin, state }) => {
    if (state === "running") return;
    for (const { session } of calls.values()) if (session.plugin === plugin) close(plugin, session.call.callId);
  });

  const converse = async ({ session, match }: OpenCall): Promise<void> => {
    const { row } = match;
    const pin = row.pin === null ? null : await askPin(session, row, deps);
    if (row.pin !== null && pin === null) return;
    await DIALOGUES[row.callAction ?? "SEND"](session, match, deps, pin);
  };
  const run = (open: OpenCall): void => {
    const { session, match } = open;
    const about = { configuration: match.row.name, callingNumber: session.call.callingNumber };
    converse(open)
      .catch((err: unknown) => {
        if (isConfigurationError(err))
          log.warn({ event: "phone_call.refused", ...about, reason: err.message }, "call could not be carried out");
        else log.error({ event: "phone_call.failed", err, ...about }, "call failed");
      })
      .finally(() => hangUp(session.plugin, session.call.callId));
  };

  return {
    async dial(plugin, announced) {
      const call = parseDialledCall(announced);
      const { callId, calledNumber, callingNumber } = call;
      if (calls.size >= MAX_CALLS) return { answer: false, reason: "too-many-calls" };
      const [match] = await findDialledConfigurations(calledNumber, { ...deps, patterns });
      if (!match) {
        log.info({ event: "phone_call.number_unknown", calledNumber, callingNumber }, "no configuration for a number");
        return { answer: false, reason: "unknown-number" };
      }
      const session = new CallSession(plugin, call, given);
      const waitSeconds = match.row.pin === null ? 0 : deps.pinThrottle.waitSeconds(session, match.row.id);
      if (waitSeconds > 0) return { answer: false, reason: "locked", waitSeconds };
      close(plugin, callId);
      const timer = clock.after(CONNECT_TIMEOUT_MS, () => hangUp(plugin, callId));
      calls.set(keyOf(plugin, callId), { session, match, timer, isConnected: false });
      return { answer: true };
    },
    async connect(plugin, callId, target) {
      const open = calls.get(keyOf(plugin, callId));
      if (!open) throw invalidValue("callId", sentence("field.the-call-is-not-known-or-has-ended"));
      await open.session.connect(target);
      if (open.isConnected || open.session.isOver || !target) return;
      open.isConnected = true;
      open.timer.cancel();
      open.timer = clock.after(MAX_CALL_MS, () => hangUp(plugin, callId));
      log.info(
        {
          event: "phone_call.answered",
          calledNumber: open.session.call.calledNumber,
          callingNumber: open.session.call.callingNumber,
          configuration: open.match.row.name,
        },
        "call answered",
      );
      run(open);
    },
    hear: (plugin, callId, codec, payload) => calls.get(keyOf(plugin, callId))?.session.hear(codec, payload),
    press: (plugin, callId, key) => calls.get(keyOf(plugin, callId))?.session.press(key),
    end: (plugin, callId) => void close(plugin, callId),
    stop() {
      stopListening();
      for (const { session } of [...calls.values()]) hangUp(session.plugin, session.call.callId);
    },
  };
}

function parseDialledCall(given: unknown): DialledCall {
  const { callId, calledNumber, callingNumber, source, isAuthenticated } = (given ?? {}) as Record<string, unknown>;
  const isText = (value: unknown, max: number): value is string => typeof value === "string" && value.length <= max;
  if (!isText(callId, MAX_TEXT) || callId === "")
    throw invalidValue("callId", sentence("field.must-be-a-string-of-1-to-limit-characters", { limit: MAX_TEXT }));
  if (!isText(calledNumber, MAX_NUMBER) || calledNumber === "")
    throw invalidValue(
      "calledNumber",
      sentence("field.must-be-a-string-of-1-to-limit-characters", { limit: MAX_NUMBER }),
    );
  if (!isText(callingNumber, MAX_NUMBER))
    throw invalidValue(
      "callingNumber",
      sentence("field.must-be-a-string-of-at-most-limit-characters", { limit: MAX_NUMBER }),
    );
  if (!isText(source, MAX_TEXT))
    throw invalidValue("source", sentence("field.must-be-a-string-of-at-most-limit-characters", { limit: MAX_TEXT }));
  return { callId, calledNumber, callingNumber, source, isAuthenticated: isAuthenticated === true };
}
