import { randomBytes } from "node:crypto";
import type { Clock, PluginContext, Timer } from "#plugin-api";
import type { SipCredentials } from "../sip/user-agent/digest.ts";
import { type Hop, resolveHop } from "../sip/user-agent/hop.ts";
import type { SipUri } from "../sip/user-agent/sip-uri.ts";
import type { SipUserAgent } from "../sip/user-agent/user-agent.ts";
import { sentence } from "./sentences.ts";

/** The SIP trunk to the telephone network. */
export interface SipTrunk {
  readonly uri: SipUri;
  readonly credentials: SipCredentials | null;
  /** Null while available, else the error. */
  readonly error: string | null;
  /** Rejects with SipError if its address cannot be resolved. */
  resolveHop(): Promise<Hop>;
  /** A call failed because of the trunk: no calls until it responds again. */
  reportFailure(reason: string): void;
  /** The machine's addresses or routes changed: registers and checks at once. */
  networkChanged(): void;
  /** Starts health checks. */
  start(): void;
  /** Unregisters if registered. */
  stop(): Promise<void>;
}

export interface SipTrunkDeps {
  clock: Clock;
  userAgent: Pick<SipUserAgent, "options" | "register">;
  uri: SipUri;
  credentials: SipCredentials | null;
  /** User to register; null without registration. */
  registeredUser: string | null;
  status: PluginContext["status"];
  /** The trunk became available. */
  onAvailable(): void;
}

/** Health check intervals while available and while down. */
const CHECK_EVERY_MS = 30_000;
const RETRY_EVERY_MS = 5_000;
/**
 * Requested registration expiry, renewed at half of the granted time; short, because routers on the path drop idle
 * mappings.
 */
const REGISTRATION_S = 300;
/** Minimum interval of registrations, if the trunk grants a very short expiry. */
const MIN_REGISTER_INTERVAL_MS = 5_000;
/** CSeq numbers reserved per registration. */
const SEQUENCE_STEP = 10;
/** Statuses of a server that cannot handle any request. */
const UNAVAILABLE_STATUSES: readonly number[] = [408, 500, 502, 503, 504];
const UNAUTHORIZED_STATUSES: readonly number[] = [401, 403, 407];
/** Timeout of unregistering. */
const UNREGISTER_TIMEOUT_MS = 2_000;
const ID_BYTES = 12;

/** Creates a trunk in unknown state. */
export function createSipTrunk(deps: SipTrunkDeps): SipTrunk {
  const { clock, userAgent, uri, credentials, registeredUser, status, onAvailable } = deps;
  const callId = randomBytes(ID_BYTES).toString("hex");
  let sequence = 1;
  let registeredUntil = 0;
  let lastError: string | null = sentence("not-checked");
  let reported: string | null | undefined;
  let next: Timer | null = null;
  let stopped = false;

  const updateStatus = (found: string | null): void => {
    if (stopped) return;
    lastError = found;
    next?.cancel();
    next = clock.after(found === null ? nextCheckMs() : RETRY_EVERY_MS, () => void checkNow(), { background: true });
    if (reported === found) return;
    reported = found;
    if (found === null) status("ok");
    else status("down", found);
    if (found === null) onAvailable();
  };

  /** A registrar may grant less than half a minute. */
  const nextCheckMs = (): number =>
    registeredUser === null
      ? CHECK_EVERY_MS
      : Math.min(CHECK_EVERY_MS, Math.max(MIN_REGISTER_INTERVAL_MS, registeredUntil - clock.monotonicMs()));

  const register = async (hop: Hop, seconds: number): Promise<void> => {
    if (registeredUser === null) return;
    const from = sequence;
    // Also without a response: the numbers must not be reused.
    sequence += SEQUENCE_STEP;
    const granted = await userAgent.register({
      ...{ uri, hop, credentials, user: registeredUser, seconds, callId, sequence: from },
    });
    const { status: response, reason } = granted;
    if (response >= 300) throw new Error(sentence("registration-refused", { response: `${response} ${reason}` }));
    registeredUntil = clock.monotonicMs() + Math.min(seconds, granted.seconds) * 500;
  };

  const checkTrunk = async (): Promise<string | null> => {
    const hop = await resolveHop(uri);
    if (registeredUser !== null && clock.monotonicMs() >= registeredUntil) await register(hop, REGISTRATION_S);
    const { status: response, reason } = await userAgent.options({ ...uri, params: new Map() }, hop, credentials);
    if (UNAVAILABLE_STATUSES.includes(response)) return sentence("unavailable", { response: `${response} ${reason}` });
    // Without registration this is the only test of the password.
    return UNAUTHORIZED_STATUSES.includes(response) && credentials && registeredUser === null
      ? sentence("failed-trunk-auth", { response: `${response} ${reason}` })
      : null;
  };
  const checkNow = (): Promise<void> => checkTrunk().then(updateStatus, (error: Error) => updateStatus(error.message));

  return {
    uri,
    credentials,
    get error() {
      return lastError;
    },
    resolveHop: () => resolveHop(uri),
    reportFailure(reason) {
      registeredUntil = 0;
      updateStatus(reason);
    },
    networkChanged() {
      // The registered contact has the old address.
      registeredUntil = 0;
      if (!stopped) void checkNow();
    },
    start: () => void checkNow(),
    async stop() {
      if (stopped) return;
      stopped = true;
      next?.cancel();
      if (registeredUntil === 0) return;
      const unregistered = resolveHop(uri).then((hop) => register(hop, 0));
      const timedOut = new Promise<void>(
        (resolve) => void clock.after(UNREGISTER_TIMEOUT_MS, resolve, { background: true }),
      );
      await Promise.race([unregistered, timedOut]).catch(() => {});
    },
  };
}
