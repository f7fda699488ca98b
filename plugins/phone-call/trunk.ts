import { randomBytes } from "node:crypto";
import type { Clock, PluginContext, Timer } from "#plugin-api";
import type { Agent } from "../sip/agent/agent.ts";
import type { Credentials } from "../sip/agent/digest.ts";
import { type Hop, hopTo } from "../sip/agent/hop.ts";
import type { SipUri } from "../sip/agent/uri.ts";

/** The way into the telephone network. */
export interface Trunk {
  readonly uri: SipUri;
  readonly credentials: Credentials | null;
  /** Null as long as it is well; else why it is not, in words. */
  readonly fault: string | null;
  /** Rejects with SipFault where its address is not known. */
  hop(): Promise<Hop>;
  /** A call has shown that it is not well: nothing is tried until it answers again. */
  failed(words: string): void;
  /** Looks whether it is there from now on. */
  start(): void;
  /** Tells it that we are gone, if it was told that we are there. */
  stop(): Promise<void>;
}

/** What a trunk needs. */
export interface TrunkNeeds {
  clock: Clock;
  agent: Pick<Agent, "options" | "register">;
  uri: SipUri;
  credentials: Credentials | null;
  /** The name that is registered; null where the trunk knows where we are. */
  registers: string | null;
  status: PluginContext["status"];
  /** It is well, after it was not, or nobody knew. */
  onWell(): void;
}

/** A trunk that is well is asked so often, and one that is not. own choice */
const ASK_WELL_MS = 30_000;
const ASK_ILL_MS = 5_000;
/** How long a registration is to hold; it is told anew at half of what it does. own choice: short, for routers on the way forget */
const REGISTERED_S = 300;
/** A trunk that grants next to nothing is not told more often. own choice */
const SOON_MS = 5_000;
/** Numbers that telling it once may take. */
const NUMBERS = 10;
/** With these a server says that it can't do anything, whatever it is asked. */
const ILL: readonly number[] = [408, 500, 502, 503, 504];
const REFUSED: readonly number[] = [401, 403, 407];
/** How long a trunk is waited for that is told that we are gone. own choice */
const GOODBYE_MS = 2_000;
const ID_BYTES = 12;

/** Makes a trunk of which nothing is known yet. */
export function createTrunk(needs: TrunkNeeds): Trunk {
  const { clock, agent, uri, credentials, registers, status, onWell } = needs;
  const callId = randomBytes(ID_BYTES).toString("hex");
  let sequence = 1;
  let registeredUntil = 0;
  let fault: string | null = "the trunk was not asked yet";
  let told: string | null | undefined;
  let next: Timer | null = null;
  let stopped = false;

  const note = (found: string | null): void => {
    if (stopped) return;
    fault = found;
    next?.cancel();
    next = clock.after(found === null ? untilNext() : ASK_ILL_MS, () => void ask(), { background: true });
    if (told === found) return;
    told = found;
    if (found === null) status("ok");
    else status("down", found);
    if (found === null) onWell();
  };

  /** Registrars may grant less than half a minute. */
  const untilNext = (): number =>
    registers === null ? ASK_WELL_MS : Math.min(ASK_WELL_MS, Math.max(SOON_MS, registeredUntil - clock.monotonicMs()));

  const register = async (hop: Hop, seconds: number): Promise<void> => {
    if (registers === null) return;
    const from = sequence;
    // Even if no answer comes: what was heard there must not come again.
    sequence += NUMBERS;
    const granted = await agent.register({
      ...{ uri, hop, credentials, user: registers, seconds, callId, sequence: from },
    });
    const { status: answer, reason } = granted;
    if (answer >= 300) throw new Error(`the trunk refuses the registration (${answer} ${reason})`);
    registeredUntil = clock.monotonicMs() + Math.min(seconds, granted.seconds) * 500;
  };

  const look = async (): Promise<string | null> => {
    const hop = await hopTo(uri);
    if (registers !== null && clock.monotonicMs() >= registeredUntil) await register(hop, REGISTERED_S);
    const { status: answer, reason } = await agent.options({ ...uri, params: new Map() }, hop, credentials);
    if (ILL.includes(answer)) return `the trunk is not well (${answer} ${reason})`;
    // Without a registration nothing else shows that the password is wrong.
    return REFUSED.includes(answer) && credentials && registers === null
      ? `the trunk does not accept name and password (${answer} ${reason})`
      : null;
  };
  const ask = (): Promise<void> => look().then(note, (error: Error) => note(error.message));

  return {
    uri,
    credentials,
    get fault() {
      return fault;
    },
    hop: () => hopTo(uri),
    failed(words) {
      registeredUntil = 0;
      note(words);
    },
    start: () => void ask(),
    async stop() {
      if (stopped) return;
      stopped = true;
      next?.cancel();
      if (registeredUntil === 0) return;
      const told = hopTo(uri).then((hop) => register(hop, 0));
      const waited = new Promise<void>((resolve) => void clock.after(GOODBYE_MS, resolve, { background: true }));
      await Promise.race([told, waited]).catch(() => {});
    },
  };
}
