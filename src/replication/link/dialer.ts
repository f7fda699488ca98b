import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Clock, Timer } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { readTalk } from "../frame-schemas.ts";
import type { Wire } from "../frames.ts";
import type { HubTalk, SiteTalk } from "../talk.ts";
import { connectionOptions, type HubAddress } from "./hub-address.ts";
import { createSocketWire, KEEP_ALIVE_MS, LINK_PROTOCOLS, MOST_FRAME_BYTES } from "./socket-wire.ts";

/** How the link is, as people are told. Times are epoch ms. */
export interface LinkState {
  state: "connecting" | "connected" | "waiting" | "refused";
  /** Since when it is so. */
  since: number;
  /** When the cloud was heard last; null for never since the start. */
  connectedAt: number | null;
  /** Why there is no connection, in words; null while there is one. */
  reason: string | null;
}

/** What dialling needs. */
export interface DialerNeeds {
  clock: Clock;
  log: Log;
  /** Version of this software, which the cloud is told. */
  version: string;
  /** Where the cloud is and what is shown there; asked before each try. */
  address(): HubAddress;
  /** Between 0 and 1. */
  random(): number;
  site: {
    connected(wire: Wire): void;
    frame(wire: Wire, value: unknown): void;
    disconnected(wire: Wire): void;
  };
  /** Ms between signs of life; what replication.md says unless given. */
  beatMs?: number;
  /** The state is another one. */
  changed(state: LinkState): void;
  /** The cloud says something beside the feeds; `say` answers on the same connection. */
  talk(said: HubTalk, say: (talk: SiteTalk) => void): void;
}

/** Keeps one connection to the cloud. */
export interface Dialer {
  start(): void;
  state(): LinkState;
  /** Says something to the cloud; false when there is no link. */
  say(talk: SiteTalk): boolean;
  /** Ends the present connection; another one follows. For tests and orders. */
  cut(): void;
  stop(): void;
}

/**
 * The first try comes within 2 s, then within 2^n s, up to 12. own choice: all sides are to agree within 30 s of a line's
 * return, and an appliance that waits hears no alert. Whoever has too many coming at once says so by `Retry-After`.
 * After a link that stood, all tries of some seconds come within 2 s: another node of the cloud takes over meanwhile.
 */
const FIRST_MS = 2_000;
const TAKEN_OVER_MS = 15_000;
/** A link that ended sooner says that something is wrong with it, and not with its node. own choice */
const STOOD_MS = 3_000;
const MOST_MS = 12_000;
/** A cloud that asks for time gets it, up to this, and as much again by chance. own choice */
const MOST_ASKED_MS = 60_000;
/** A connection that stood so long was a good one. @source replication.md 6 */
const GOOD_MS = 30_000;
/** Whoever was refused asks once a minute. @source replication.md 6 */
const REFUSED_MS = 60_000;
/** own choice: a line that returns meanwhile is found by the third repetition of TCP's first packet, after 7 s, or by the next try */
const HANDSHAKE_MS = 10_000;

/** Why the cloud closed a connection whose key it does not take. */
const KEY_REFUSED: Readonly<Record<string, string>> = {
  revoked: "The cloud took this appliance's key away.",
  unproven: "The cloud did not accept this appliance's key.",
};

/** Makes it; the first try is at once, as nobody else begins at that moment because of this one. */
export function createDialer(needs: DialerNeeds): Dialer {
  const { clock, log, version, address, random, site, changed } = needs;
  let state: LinkState = { state: "connecting", since: clock.now(), connectedAt: null, reason: null };
  let failures = 0;
  /** Until when another node may be about to take over; monotonic ms. */
  let soonUntil = 0;
  let socket: WebSocket | null = null;
  let timer: Timer | null = null;
  let say: ((talk: SiteTalk) => void) | null = null;
  let isStopped = false;

  function tell(next: LinkState["state"], reason: string | null): void {
    if (state.state === next && state.reason === reason) return;
    const since = state.state === next ? state.since : clock.now();
    state = { ...state, state: next, since, reason };
    changed(state);
  }

  function later(reason: string, isRefused: boolean, askedMs = 0): void {
    if (isStopped) return;
    tell(isRefused ? "refused" : "waiting", reason);
    const isSoon = clock.monotonicMs() < soonUntil;
    const span = askedMs || Math.min(MOST_MS, FIRST_MS * 2 ** (isSoon ? 0 : Math.min(failures, 10)));
    if (!isSoon) failures += 1;
    const delayMs = isRefused ? REFUSED_MS : askedMs + random() * span;
    log.debug({ reason, delayMs }, "the link is down");
    timer = clock.after(delayMs, dial, { background: true });
  }

  function dial(): void {
    if (isStopped) return;
    if (state.state !== "waiting" && state.state !== "refused") tell("connecting", null);
    const { url, token, ...secure } = address();
    const headers = { authorization: `Bearer ${token}`, "user-agent": `carillon/${version}` };
    const opening = new WebSocket(url, [...LINK_PROTOCOLS], {
      headers,
      perMessageDeflate: false,
      maxPayload: MOST_FRAME_BYTES,
      handshakeTimeout: HANDSHAKE_MS,
      ...connectionOptions(url, secure),
    });
    socket = opening;
    let refusal: string | null = null;
    let askedMs = 0;
    let hasOpened = false;
    opening.once("unexpected-response", (_request, response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      response.resume();
      refusal = status === 401 || status === 403 ? `The cloud does not know this appliance (${status}).` : null;
      if (status === 429 || status === 503) askedMs = timeAsked(response);
      const who = status === 407 ? "The proxy" : "The cloud";
      opening.emit("error", new UpstreamError("upstream", `${who} answered ${status}.`));
      opening.terminate();
    });
    const failed = (reason: string): void => {
      if (hasOpened || socket !== opening) return;
      socket = null;
      later(refusal ?? reason, refusal !== null, askedMs);
    };
    opening.on("error", (error) => failed(error.message));
    opening.once("close", (code) => failed(`The connection was closed (${code}).`));
    opening.once("upgrade", ({ socket: line }: IncomingMessage) => line.setKeepAlive(true, KEEP_ALIVE_MS));
    opening.once("open", () => {
      hasOpened = true;
      if (isStopped) return opening.terminate();
      hold(opening);
    });
  }

  function hold(opened: WebSocket): void {
    const openedAt = clock.monotonicMs();
    const ends = {
      frame(value: unknown) {
        const said = readTalk(value, "hub");
        if (said) return needs.talk(said, wire.say);
        if (!state.connectedAt || state.state !== "connected") greeted(value, wire.say);
        site.frame(wire, value);
      },
      closed(reason: string) {
        say = null;
        site.disconnected(wire);
        if (socket === opened) socket = null;
        const stoodMs = clock.monotonicMs() - openedAt;
        if (stoodMs >= GOOD_MS) failures = 0;
        if (stoodMs >= STOOD_MS) soonUntil = clock.monotonicMs() + TAKEN_OVER_MS;
        log.info({ reason }, "the link ended");
        const refused = KEY_REFUSED[reason];
        later(refused ?? `The connection ended: ${reason}.`, refused !== undefined);
      },
    };
    const wire = createSocketWire(opened, clock, ends, needs.beatMs);
    site.connected(wire);
  }

  /** "Connected" only after the cloud's welcome. @source replication.md 6, session states */
  function greeted(value: unknown, saying: (talk: SiteTalk) => void): void {
    if ((value as { t?: unknown } | null | undefined)?.t !== "welcome") return;
    say = saying;
    state = { ...state, connectedAt: clock.now() };
    tell("connected", null);
    log.info("linked to the cloud");
  }

  return {
    start: dial,
    state: () => state,
    say(talk) {
      say?.(talk);
      return say !== null;
    },
    cut: () => socket?.terminate(),
    stop() {
      isStopped = true;
      timer?.cancel();
      socket?.terminate();
    },
  };
}

/** Ms that a cloud which has too much to do asks for; 0 where it names no seconds. */
function timeAsked({ headers }: IncomingMessage): number {
  const seconds = Number(headers["retry-after"]);
  return seconds > 0 ? Math.min(MOST_ASKED_MS, seconds * 1_000) : 0;
}
