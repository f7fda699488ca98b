import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { backoffMs } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { isOwnAddress, type OwnAddress } from "../../lib/network-route.ts";
import { parseRetryAfterMs } from "../../lib/retry-after.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { HubControlMessage, SiteControlMessage } from "../protocol/control-messages.ts";
import { parseControlMessage } from "../protocol/frame-schemas.ts";
import type { FrameTransport } from "../protocol/frames.ts";
import { connectionOptions, type HubAddress } from "./hub-address.ts";
import { createWebSocketTransport, KEEP_ALIVE_MS, LINK_PROTOCOLS, MAX_FRAME_BYTES } from "./websocket-transport.ts";

/** State of the link, as shown to users. Times are epoch ms. */
export interface DialerState {
  state: "connecting" | "connected" | "waiting" | "refused";
  /** Start of the present state. */
  since: number;
  /** When the cloud was last connected; null if not since the start of the process. */
  connectedAt: number | null;
  /** Why there is no connection; null while connected. */
  reason: string | null;
}

export interface DialerDeps {
  clock: Clock;
  log: Log;
  /** Version of this software, sent as user agent. */
  version: string;
  /** Address and credentials; read before each attempt. */
  address(): HubAddress;
  /** Between 0 and 1. */
  random(): number;
  site: {
    connected(wire: FrameTransport): void;
    frame(wire: FrameTransport, value: unknown): void;
    disconnected(wire: FrameTransport): void;
  };
  /** Ms between pings; default 20 s. */
  pingIntervalMs?: number;
  onStateChanged(state: DialerState): void;
  /** Called for control messages; `say` answers on the same connection. */
  onControlMessage(message: HubControlMessage, say: (message: SiteControlMessage) => void): void;
}

/** Keeps one connection to the cloud and reconnects with backoff. */
export interface Dialer {
  start(): void;
  state(): DialerState;
  /** Sends a control message; false if not connected. */
  sendControl(message: SiteControlMessage): boolean;
  /** Closes the present connection; it reconnects. */
  disconnect(): void;
  /** The machine's addresses or routes changed: a connection from an address that is gone ends, a due retry comes at once. */
  networkChanged(addresses: readonly OwnAddress[]): void;
  stop(): void;
}

/**
 * Backoff with full jitter: the first retry within 2 s, then within 2^n s, up to 12 s. After a stable connection all
 * retries of `TAKEOVER_WINDOW_MS` come within 2 s, because another node of the cloud may take over. A `Retry-After` is
 * honoured.
 * @source docs/decisions/0301-link-transport.md
 */
const FIRST_RETRY_MS = 2_000;
const TAKEOVER_WINDOW_MS = 15_000;
/**
 * A connection that ended sooner is treated as a fault of the link, not of the node.
 * @source docs/decisions/0301-link-transport.md
 */
const MIN_LINK_MS = 3_000;
const MAX_RETRY_MS = 12_000;
/** Longest `Retry-After`; the jitter may double it. @source docs/decisions/0301-link-transport.md */
const MAX_RETRY_AFTER_MS = 60_000;
/** A connection that lasted this long resets the backoff. @source docs/decisions/0040-replication.md, Section 6 */
const STABLE_LINK_MS = 30_000;
/** @source docs/decisions/0040-replication.md, Section 6 */
const REFUSED_RETRY_MS = 60_000;
/** Jitter of the retry after a change of the network, which many appliances may see together. */
const NETWORK_RETRY_MS = 500;
/** @source docs/decisions/0301-link-transport.md */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Texts of close codes by which the cloud rejects the key. */
const KEY_REFUSED: Readonly<Record<string, string>> = {
  revoked: sentence("link.key-revoked"),
  unproven: sentence("link.key-refused"),
};

/** The first attempt is immediate: other appliances do not connect at the same moment. */
export function createDialer(deps: DialerDeps): Dialer {
  const { clock, log, version, address, random, site, onStateChanged } = deps;
  let state: DialerState = { state: "connecting", since: clock.now(), connectedAt: null, reason: null };
  let failures = 0;
  /** Until then another node may be taking over; monotonic ms. */
  let takeoverUntil = 0;
  let socket: WebSocket | null = null;
  let timer: Timer | null = null;
  let sendControl: ((message: SiteControlMessage) => void) | null = null;
  let localAddress: string | null = null;
  let isStopped = false;

  function setState(next: DialerState["state"], reason: string | null): void {
    if (state.state === next && state.reason === reason) return;
    const since = state.state === next ? state.since : clock.now();
    state = { ...state, state: next, since, reason };
    onStateChanged(state);
  }

  function scheduleRetry(reason: string, isRefused: boolean, requestedMs = 0): void {
    if (isStopped) return;
    setState(isRefused ? "refused" : "waiting", reason);
    const inTakeoverWindow = clock.monotonicMs() < takeoverUntil;
    if (!inTakeoverWindow) failures += 1;
    const span = requestedMs || backoffMs(inTakeoverWindow ? 1 : failures, FIRST_RETRY_MS, MAX_RETRY_MS);
    const delayMs = isRefused ? REFUSED_RETRY_MS : requestedMs + random() * span;
    log.debug({ event: "link.retry_scheduled", reason, delayMs }, "link down; retrying");
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
    let requestedMs = 0;
    let hasOpened = false;
    opening.once("unexpected-response", (_request, response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      response.resume();
      refusal = status === 401 || status === 403 ? sentence("link.credentials-refused", { status }) : null;
      if (status === 429 || status === 503) {
        const waitMs = parseRetryAfterMs(response.headers["retry-after"], clock.now()) ?? 0;
        requestedMs = Math.min(MAX_RETRY_AFTER_MS, waitMs);
      }
      const code = status === 407 ? "link.proxy-status" : "link.cloud-status";
      opening.emit("error", new UpstreamError("upstream", sentence(code, { status })));
      opening.terminate();
    });
    const failed = (reason: string): void => {
      if (hasOpened || socket !== opening) return;
      socket = null;
      scheduleRetry(refusal ?? reason, refusal !== null, requestedMs);
    };
    opening.on("error", (error) => failed(error.message));
    opening.once("close", (code) => failed(sentence("link.closed", { code })));
    opening.once("upgrade", ({ socket: line }: IncomingMessage) => {
      line.setKeepAlive(true, KEEP_ALIVE_MS);
      localAddress = line.localAddress ?? null;
    });
    opening.once("open", () => {
      hasOpened = true;
      if (isStopped) return opening.terminate();
      openTransport(opening);
    });
  }

  function openTransport(opened: WebSocket): void {
    const openedAt = clock.monotonicMs();
    const handlers = {
      frame(value: unknown) {
        const message = parseControlMessage(value, "hub");
        if (message) return deps.onControlMessage(message, wire.sendControl);
        if (!state.connectedAt || state.state !== "connected") handleWelcome(value, wire.sendControl);
        site.frame(wire, value);
      },
      closed(reason: string) {
        sendControl = null;
        localAddress = null;
        site.disconnected(wire);
        if (socket === opened) socket = null;
        const connectedMs = clock.monotonicMs() - openedAt;
        if (connectedMs >= STABLE_LINK_MS) failures = 0;
        if (connectedMs >= MIN_LINK_MS) takeoverUntil = clock.monotonicMs() + TAKEOVER_WINDOW_MS;
        log.info({ event: "link.disconnected", reason }, "disconnected from the cloud");
        const refused = KEY_REFUSED[reason];
        scheduleRetry(refused ?? sentence("link.ended", { reason }), refused !== undefined);
      },
    };
    const wire = createWebSocketTransport(opened, clock, handlers, deps.pingIntervalMs);
    site.connected(wire);
  }

  /** The state is `connected` only after the cloud's welcome. @source docs/decisions/0040-replication.md, Section 6 */
  function handleWelcome(value: unknown, send: (message: SiteControlMessage) => void): void {
    if ((value as { t?: unknown } | null | undefined)?.t !== "welcome") return;
    sendControl = send;
    state = { ...state, connectedAt: clock.now() };
    setState("connected", null);
    log.info({ event: "link.connected" }, "connected to the cloud");
  }

  return {
    start: dial,
    state: () => state,
    sendControl(message) {
      sendControl?.(message);
      return sendControl !== null;
    },
    disconnect: () => socket?.terminate(),
    networkChanged(addresses) {
      if (isStopped) return;
      // The other side can no longer answer to that address; keep-alive would notice only after a minute.
      if (localAddress !== null && !isOwnAddress(addresses, localAddress)) socket?.terminate();
      if (state.state !== "waiting") return;
      timer?.cancel();
      failures = 0;
      timer = clock.after(random() * NETWORK_RETRY_MS, dial, { background: true });
    },
    stop() {
      isStopped = true;
      timer?.cancel();
      socket?.terminate();
    },
  };
}
