import { randomBytes } from "node:crypto";
import type { Clock, PluginContext, Timer } from "#plugin-api";
import type { SipCredentials } from "../sip/user-agent/digest.ts";
import { type Hop, resolveHop } from "../sip/user-agent/hop.ts";
import type { SipUri } from "../sip/user-agent/sip-uri.ts";
import type { SipUserAgent } from "../sip/user-agent/user-agent.ts";

/** The way into the telephone network. */
export interface SipTrunk {
  readonly uri: SipUri;
  readonly credentials: SipCredentials | null;
  /** Null as long as it is well; else why it is not, in words. */
  readonly error: string | null;
  /** Rejects with SipFault where its address is not known. */
  resolveHop(): Promise<Hop>;
  /** A call has shown that it is not well: nothing is tried until it answers again. */
  reportFailure(words: string): void;
  /** Looks whether it is there from now on. */
  start(): void;
  /** Tells it that we are gone, if it was told that we are there. */
  stop(): Promise<void>;
}

/** What a trunk needs. */
export interface SipTrunkDeps {
  clock: Clock;
  userAgent: Pick<SipUserAgent, "options" | "register">;
  uri: SipUri;
  credentials: SipCredentials | null;
  /** The name that is registered; null where the trunk knows where we are. */
  registeredUser: string | null;
  status: PluginContext["status"];
  /** It is well, after it was not, or nobody knew. */
  onAvailable(): void;
}

/** A trunk that is well is asked so often, and one that is not. own choice */
const CHECK_EVERY_MS = 30_000;
const RETRY_EVERY_MS = 5_000;
/** How long a registration is to hold; it is told anew at half of what it does. own choice: short, for routers on the way forget */
const REGISTRATION_S = 300;
/** A trunk that grants next to nothing is not told more often. own choice */
const MIN_REGISTER_INTERVAL_MS = 5_000;
/** Numbers that telling it once may take. */
const SEQUENCE_STEP = 10;
/** With these a server says that it can't do anything, whatever it is asked. */
const UNAVAILABLE_STATUSES: readonly number[] = [408, 500, 502, 503, 504];
const UNAUTHORIZED_STATUSES: readonly number[] = [401, 403, 407];
/** How long a trunk is waited for that is told that we are gone. own choice */
const UNREGISTER_TIMEOUT_MS = 2_000;
const ID_BYTES = 12;

/** Makes a trunk of which nothing is known yet. */
export function createSipTrunk(needs: SipTrunkDeps): SipTrunk {
  const { clock, userAgent, uri, credentials, registeredUser, status, onAvailable } = needs;
  const callId = randomBytes(ID_BYTES).toString("hex");
  let sequence = 1;
  let registeredUntil = 0;
  let fault: string | null = "the trunk was not asked yet";
  let told: string | null | undefined;
  let next: Timer | null = null;
  let stopped = false;

  const updateStatus = (found: string | null): void => {
    if (stopped) return;
    fault = found;
    next?.cancel();
    next = clock.after(found === null ? nextCheckMs() : RETRY_EVERY_MS, () => void checkNow(), { background: true });
    if (told === found) return;
    told = found;
    if (found === null) status("ok");
    else status("down", found);
    if (found === null) onAvailable();
  };

  /** Registrars may grant less than half a minute. */
  const nextCheckMs = (): number =>
    registeredUser === null
      ? CHECK_EVERY_MS
      : Math.min(CHECK_EVERY_MS, Math.max(MIN_REGISTER_INTERVAL_MS, registeredUntil - clock.monotonicMs()));

  const register = async (hop: Hop, seconds: number): Promise<void> => {
    if (registeredUser === null) return;
    const from = sequence;
    // Even if no answer comes: what was heard there must not come again.
    sequence += SEQUENCE_STEP;
    const granted = await userAgent.register({
      ...{ uri, hop, credentials, user: registeredUser, seconds, callId, sequence: from },
    });
    const { status: answer, reason } = granted;
    if (answer >= 300) throw new Error(`the trunk refuses the registration (${answer} ${reason})`);
    registeredUntil = clock.monotonicMs() + Math.min(seconds, granted.seconds) * 500;
  };

  const checkTrunk = async (): Promise<string | null> => {
    const hop = await resolveHop(uri);
    if (registeredUser !== null && clock.monotonicMs() >= registeredUntil) await register(hop, REGISTRATION_S);
    const { status: answer, reason } = await userAgent.options({ ...uri, params: new Map() }, hop, credentials);
    if (UNAVAILABLE_STATUSES.includes(answer)) return `the trunk is not well (${answer} ${reason})`;
    // Without a registration nothing else shows that the password is wrong.
    return UNAUTHORIZED_STATUSES.includes(answer) && credentials && registeredUser === null
      ? `the trunk does not accept name and password (${answer} ${reason})`
      : null;
  };
  const checkNow = (): Promise<void> => checkTrunk().then(updateStatus, (error: Error) => updateStatus(error.message));

  return {
    uri,
    credentials,
    get error() {
      return fault;
    },
    resolveHop: () => resolveHop(uri),
    reportFailure(words) {
      registeredUntil = 0;
      updateStatus(words);
    },
    start: () => void checkNow(),
    async stop() {
      if (stopped) return;
      stopped = true;
      next?.cancel();
      if (registeredUntil === 0) return;
      const told = resolveHop(uri).then((hop) => register(hop, 0));
      const waited = new Promise<void>(
        (resolve) => void clock.after(UNREGISTER_TIMEOUT_MS, resolve, { background: true }),
      );
      await Promise.race([told, waited]).catch(() => {});
    },
  };
}
