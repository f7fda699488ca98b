import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import dialcastDialingConfigurations from "../../resources/inputs/dialcast-dialing-configurations.ts";
import { matchesStoredSecret } from "../../store/secret-hashes.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import type { CallSession } from "./call-session.ts";
import type { PinThrottle } from "./pin-throttle.ts";
import { prompt } from "./prompts.ts";

export interface PinDialogueDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  pinThrottle: PinThrottle;
}

/** A configuration with a PIN. */
export interface PinOwner {
  id: string;
  name: string;
  pin: string | null;
}

/** Three wrong PINs end the call; with the third the caller is locked out too, see `createPinThrottle`. */
const MAX_ATTEMPTS = 3;
const FIRST_KEY_MS = 10_000;
const NEXT_KEY_MS = 5_000;
const MAX_DIGITS = 12;

/** Asks for the PIN of a configuration until it is right; resolves with the digits, or with null if they never were. */
export async function askPin(session: CallSession, owner: PinOwner, deps: PinDialogueDeps): Promise<string | null> {
  const { store, pinThrottle, log } = deps;
  const { callingNumber } = session.call;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    await session.say(prompt("pin"));
    const digits = await readDigits(session);
    // Silence is no guess.
    if (session.isOver || digits === "") return null;
    const isLocked = !pinThrottle.begin(session, owner.id);
    if (!isLocked && owner.pin !== null && (await matchesStoredSecret(owner.pin, digits, store.secrets))) {
      pinThrottle.accept(session, owner.id);
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

/** Writes the refusal to the audit, which raises an alarm, and to the appliance's activities. Never the digits. */
async function recordRefusal(
  { call }: CallSession,
  { id, name }: PinOwner,
  attempt: number,
  { store, by, endpointId }: PinDialogueDeps,
): Promise<void> {
  const { callingNumber, calledNumber, source } = call;
  const value = {
    message: sentence("login.pin-wrong"),
    ...{ callingNumber, calledNumber, source, attempt, name },
    dialcastDialingConfigurationId: id,
  };
  const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
  const details = { what: "PIN by telephone", name, callingNumber, calledNumber, source };
  await store.write((tx) => {
    tx.create(endpointActivities, { ...where, type: "log-message", severity: "warn", value }, by);
    tx.addAuditEvent(
      { op: "credential-refused", resource: dialcastDialingConfigurations.name, rowId: id, details },
      by,
    );
  });
}
