import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { HubControlMessage, SiteControlMessage } from "../protocol/control-messages.ts";
import { parseControlMessage } from "../protocol/frame-schemas.ts";
import type { FrameTransport } from "../protocol/frames.ts";
import { connectionOptions, type HubAddress } from "./hub-address.ts";
import { createWebSocketTransport, KEEP_ALIVE_MS, LINK_PROTOCOLS, MAX_FRAME_BYTES } from "./websocket-transport.ts";

/** How the link is, as people are told. Times are epoch ms. */
export interface DialerState {
  state: "connecting" | "connected" | "waiting" | "refused";
  /** Since when it is so. */
  since: number;
  /** When the cloud was heard last; null for never since the start. */
  connectedAt: number | null;
  /** Why there is no connection, in words; null while there is one. */
  reason: string | null;
}

/** What dialling needs. */
export interface DialerDeps {
  clock: Clock;
  log: Log;
  /** Version of this software, which the cloud is told. */
  version: string;
  /** Where the cloud is and what is shown there; asked before each try. */
  address(): HubAddress;
  /** Between 0 and 1. */
  random(): number;
  site: {
    connected(wire: FrameTransport): void;
    frame(wire: FrameTransport, value: unknown): void;
    disconnected(wire: FrameTransport): void;
  };
  /** Ms between signs of life; what replication.md says unless given. */
  pingIntervalMs?: number;
  /** The state is another one. */
  onStateChanged(state: DialerState): void;
  /** The cloud says something beside the feeds; `say` answers on the same connection. */
  onControlMessage(said: HubControlMessage, say: (talk: SiteControlMessage) => void): void;
}

/** Keeps one connection to the cloud. */
export interface Dialer {
  start(): void;
  state(): DialerState;
  /** Says something to the cloud; false when there is no link. */
  sendControl(talk: SiteControlMessage): boolean;
  /** Ends the present connection; another one follows. For tests and orders. */
  disconnect(): void;
  stop(): void;
}

/**
 * The first try comes within 2 s, then within 2^n s, up to 12. own choice: all sides are to agree within 30 s of a line's
 * return, and an appliance that waits hears no alert. Whoever has too many coming at once says so by `Retry-After`.
 * After a link that stood, all tries of some seconds come within 2 s: another node of the cloud takes over meanwhile.
 */
const FIRST_RETRY_MS = 2_000;
const TAKEOVER_WINDOW_MS = 15_000;
/** A link that ended sooner says that something is wrong with it, and not with its node. own choice */
const MIN_LINK_MS = 3_000;
const MAX_RETRY_MS = 12_000;
/** A cloud that asks for time gets it, up to this, and as much again by chance. own choice */
const MAX_RETRY_AFTER_MS = 60_000;
/** A connection that stood so long was a good one. @source replication.md 6 */
const STABLE_LINK_MS = 30_000;
/** Whoever was refused asks once a minute. @source replication.md 6 */
const REFUSED_RETRY_MS = 60_000;
/** own choice: a line that returns meanwhile is found by the third repetition of TCP's first packet, after 7 s, or by the next try */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Why the cloud closed a connection whose key it does not take. */
const KEY_REFUSED: Readonly<Record<string, string>> = {
  revoked: "The cloud took this appliance's key away.",
  unproven: "The cloud did not accept this appliance's key.",
};

/** Makes it; the first try is at once, as nobody else begins at that moment because of this one. */
export function createDialer(needs: DialerDeps): Dialer {
  const { clock, log, version, address, random, site, onStateChanged } = needs;
  let state: DialerState = { state: "connecting", since: clock.now(), connectedAt: null, reason: null };
  let failures = 0;
  /** Until when another node may be about to take over; monotonic ms. */
  let soonUntil = 0;
  let socket: WebSocket | null = null;
  let timer: Timer | null = null;
  let sendControl: ((talk: SiteControlMessage) => void) | null = null;
  let isStopped = false;

  function setState(next: DialerState["state"], reason: string | null): void {
    if (state.state === next && state.reason === reason) return;
    const since = state.state === next ? state.since : clock.now();
    state = { ...state, state: next, since, reason };
    onStateChanged(state);
  }

  function scheduleRetry(reason: string, isRefused: boolean, askedMs = 0): void {
    if (isStopped) return;
    setState(isRefused ? "refused" : "waiting", reason);
    const isSoon = clock.monotonicMs() < soonUntil;
    const span = askedMs || Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (isSoon ? 0 : Math.min(failures, 10)));
    if (!isSoon) failures += 1;
    const delayMs = isRefused ? REFUSED_RETRY_MS : askedMs + random() * span;
    log.debug({ reason, delayMs }, "the link is down");
    timer = clock.after(delayMs, dial, { background: true });
  }

  function dial(): void {
    if (isStopped) return;
    if (state.state !== "waiting" && state.state !== "refused") setState("connecting", null);
    const { url, token, ...secure } = address();
    const headers = { authorization: `Bearer ${token}`, "user-agent": `carillon/${version}` };
    const opening = new WebSocket(url, [...LINK_PROTOCOLS], {
      headers,
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
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
      if (status === 429 || status === 503) askedMs = retryAfterMs(response);
      const who = status === 407 ? "The proxy" : "The cloud";
      opening.emit("error", new UpstreamError("upstream", `${who} answered ${status}.`));
      opening.terminate();
    });
    const failed = (reason: string): void => {
      if (hasOpened || socket !== opening) return;
      socket = null;
      scheduleRetry(refusal ?? reason, refusal !== null, askedMs);
    };
    opening.on("error", (error) => failed(error.message));
    opening.once("close", (code) => failed(`The connection was closed (${code}).`));
    opening.once("upgrade", ({ socket: line }: IncomingMessage) => line.setKeepAlive(true, KEEP_ALIVE_MS));
    opening.once("open", () => {
      hasOpened = true;
      if (isStopped) return opening.terminate();
      openTransport(opening);
    });
  }

  function openTransport(opened: WebSocket): void {
    const openedAt = clock.monotonicMs();
    const ends = {
      frame(value: unknown) {
        const said = parseControlMessage(value, "hub");
        if (said) return needs.onControlMessage(said, wire.sendControl);
        if (!state.connectedAt || state.state !== "connected") handleWelcome(value, wire.sendControl);
        site.frame(wire, value);
      },
      closed(reason: string) {
        sendControl = null;
        site.disconnected(wire);
        if (socket === opened) socket = null;
        const stoodMs = clock.monotonicMs() - openedAt;
        if (stoodMs >= STABLE_LINK_MS) failures = 0;
        if (stoodMs >= MIN_LINK_MS) soonUntil = clock.monotonicMs() + TAKEOVER_WINDOW_MS;
        log.info({ reason }, "the link ended");
        const refused = KEY_REFUSED[reason];
        scheduleRetry(refused ?? `The connection ended: ${reason}.`, refused !== undefined);
      },
    };
    const wire = createWebSocketTransport(opened, clock, ends, needs.pingIntervalMs);
    site.connected(wire);
  }

  /** "Connected" only after the cloud's welcome. @source replication.md 6, session states */
  function handleWelcome(value: unknown, saying: (talk: SiteControlMessage) => void): void {
    if ((value as { t?: unknown } | null | undefined)?.t !== "welcome") return;
    sendControl = saying;
    state = { ...state, connectedAt: clock.now() };
    setState("connected", null);
    log.info("linked to the cloud");
  }

  return {
    start: dial,
    state: () => state,
    sendControl(talk) {
      sendControl?.(talk);
      return sendControl !== null;
    },
    disconnect: () => socket?.terminate(),
    stop() {
      isStopped = true;
      timer?.cancel();
      socket?.terminate();
    },
  };
}

/** Ms that a cloud which has too much to do asks for; 0 where it names no seconds. */
function retryAfterMs({ headers }: IncomingMessage): number {
  const seconds = Number(headers["retry-after"]);
  return seconds > 0 ? Math.min(MAX_RETRY_AFTER_MS, seconds * 1_000) : 0;
}
