import type { AttemptThrottle } from "../../auth/attempt-throttle.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import { matchesStoredSecret } from "../../store/secret-hashes.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import type { CallSession } from "./call-session.ts";
import { prompt } from "./prompts.ts";

export interface PinDialogueDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  /** Wrong PINs of a caller, and of all callers at one configuration. */
  throttles: { caller: AttemptThrottle; configuration: AttemptThrottle };
}

/** A configuration with a PIN. */
export interface PinOwner {
  id: string;
  name: string;
  pin: string | null;
}

/** Three wrong PINs end the call. The lock-out of callers begins with the third, see `PIN_LOCK`. */
const MAX_ATTEMPTS = 3;
const FIRST_KEY_MS = 10_000;
const NEXT_KEY_MS = 5_000;
const MAX_DIGITS = 12;

/** A caller is locked out for 5 minutes, doubled with each further wrong PIN. */
export const CALLER_LOCK = {
  ...{ freeAttempts: MAX_ATTEMPTS - 1, initialDelayMs: 300_000, maxDelayMs: 3_600_000 },
  retentionMs: 86_400_000,
};
/** The same over all callers, because numbers can be forged. */
export const CONFIGURATION_LOCK = {
  ...{ freeAttempts: 20, initialDelayMs: 1_000, maxDelayMs: 300_000, decayIntervalMs: 60_000 },
  retentionMs: 86_400_000,
};

const callerKey = ({ plugin, call }: CallSession): string => `${plugin} ${call.callingNumber}`;

/** Seconds until the caller may try a PIN again; 0 if allowed. */
export function secondsUntilPin(session: CallSession, { throttles }: Pick<PinDialogueDeps, "throttles">): number {
  const wait = throttles.caller.begin(callerKey(session));
  if (wait === 0) throttles.caller.rollback(callerKey(session));
  return wait;
}

/** Asks for the PIN of a configuration until it is right; resolves with the digits, or with null if they never were. */
export async function askPin(session: CallSession, owner: PinOwner, deps: PinDialogueDeps): Promise<string | null> {
  const { store, throttles, log } = deps;
  const { callingNumber } = session.call;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    await session.say(prompt("pin"));
    const digits = await readDigits(session);
    // Silence is no guess.
    if (session.isOver || digits === "") return null;
    const isLocked = throttles.caller.begin(callerKey(session)) > 0 || throttles.configuration.begin(owner.id) > 0;
    if (!isLocked && owner.pin !== null && (await matchesStoredSecret(owner.pin, digits, store.secrets))) {
      throttles.caller.reset(callerKey(session));
      throttles.configuration.rollback(owner.id);
      return digits;
    }
    log.warn({ event: "phone_call.pin_refused", callingNumber, configuration: owner.name, attempt }, "PIN refused");
    await recordRefusal(session, owner, attempt, deps);
    if (isLocked) break;
    if (attempt < MAX_ATTEMPTS) await session.say(prompt("wrong-pin"));
  }
  await session.say(prompt("locked"));
  return null;
}

/** Digits up to `#` or a pause. */
async function readDigits(session: CallSession): Promise<string> {
  let digits = "";
  for (;;) {
    const key = await session.nextKey(digits === "" ? FIRST_KEY_MS : NEXT_KEY_MS);
    if (key === null || key === "#") return digits;
    if (key === "*") digits = "";
    else digits += key;
    if (digits.length === MAX_DIGITS) return digits;
  }
}

/** Writes the refusal to the appliance's activities, and so to the audit log. Never the digits. */
async function recordRefusal(
  { call }: CallSession,
  { id, name }: PinOwner,
  attempt: number,
  { store, by, endpointId }: PinDialogueDeps,
): Promise<void> {
  const value = {
    message: "Wrong PIN by telephone.",
    ...{ callingNumber: call.callingNumber, calledNumber: call.calledNumber, attempt },
    dialcastDialingConfigurationId: id,
    name,
  };
  const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
  await store.write(
    (tx) => void tx.create(endpointActivities, { ...where, type: "log-message", severity: "warn", value }, by),
  );
}
