import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { readEndpointCertificate } from "../identity/certificate-info.ts";
import { ENROL_PROTOCOL, type EnrolmentHandler, serveEnrolment } from "../identity/enrolment-exchange.ts";
import type { ApplianceIdentity } from "../identity/enrolment-records.ts";
import { verifyChallenge } from "../identity/local-identity.ts";
import type { HubControlMessage, SiteControlMessage } from "../protocol/control-messages.ts";
import { parseControlMessage } from "../protocol/frame-schemas.ts";
import type { FrameTransport } from "../protocol/frames.ts";
import { buildChallenge } from "../protocol/key-challenge.ts";
import {
  createWebSocketTransport,
  KEEP_ALIVE_MS,
  LINK_PROTOCOLS,
  type LinkTransport,
  MAX_FRAME_BYTES,
} from "./websocket-transport.ts";

export interface AcceptorDeps {
  clock: Clock;
  log: Log;
  hub: { connected(wire: FrameTransport, endpoint: string): { frame(value: unknown): void; closed(): void } };
  enrol: EnrolmentHandler;
  /** Returns the identity of a valid key or token, else null. */
  identify(shown: { keyHash: string } | { token: string }): Promise<ApplianceIdentity | null>;
  /** Called when an appliance connects, with its user agent and key; null when it disconnects. */
  onLinkChanged(endpoint: string, linked: { software: string | null; keyHash: string } | null): void;
  /** Called for control messages of an authenticated appliance. */
  onControlMessage(by: LinkedSite, message: SiteControlMessage): void;
}

/** A connected and authenticated appliance. */
export interface LinkedSite {
  endpoint: string;
  keyHash: string;
  sendControl(message: HubControlMessage): void;
}

/** The cloud's listener for the links of all appliances. */
export interface Acceptor {
  /** Upgrades a request to a link. Throws CallerError for what the API should answer. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ids of the connected appliances. */
  connected(): string[];
  /** Sends a control message; dropped if the appliance is not connected. */
  sendControl(endpoint: string, message: HubControlMessage): void;
  /** Closes all connections of an appliance whose key was revoked, and ignores what they still send. */
  disconnect(endpoint: string): void;
  /** Closes all connections; new ones are accepted. */
  disconnectAll(): void;
  stop(): void;
}

/** One connection of an appliance, which may still have to prove its key. */
interface Connection {
  as: LinkedSite | null;
  end(code: string): void;
}

/** The identity that a connection claims. */
interface LinkCaller {
  identity: ApplianceIdentity;
  /** Authenticated by client certificate; otherwise it has to prove its key. */
  isCertain: boolean;
  software: string | null;
}

/** Concurrent enrolment connections. @source docs/decisions/0301-link-transport.md */
const MAX_ENROLLING = 20;
/** Concurrent enrolment connections of one address. @source docs/decisions/0301-link-transport.md */
const MAX_ENROLLING_PER_ADDRESS = 5;
/** @source docs/decisions/0301-link-transport.md */
const MAX_ENROLMENT_BYTES = 16 * 1024;
/**
 * Time to prove the key; frames sent before are held, up to this number.
 * @source docs/decisions/0301-link-transport.md
 */
const PROOF_TIMEOUT_MS = 15_000;
const MAX_HELD_FRAMES = 8;
/** The same while the revocation of a proven key is checked. */
const MAX_HELD_FRAMES_AFTER_PROOF = 64;
const GOING_AWAY = 1001;
const NONCE_BYTES = 32;

export function createAcceptor(deps: AcceptorDeps): Acceptor {
  const { clock, log, hub, enrol } = deps;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (offered) => LINK_PROTOCOLS.find((each) => offered.has(each)) ?? false,
  });
  const enrolmentServer = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_ENROLMENT_BYTES,
    handleProtocols: () => ENROL_PROTOCOL,
  });
  const open = new Set<WebSocket>();
  const linked = new Map<string, LinkedSite>();
  const connections = new Map<string, Set<Connection>>();
  /** Addresses of the open enrolment connections. */
  const enrolling: string[] = [];
  let isStopped = false;

  function trackSocket(socket: WebSocket): void {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  }

  /** Admits an appliance once it is authenticated: by its client certificate, or by signing the challenge. */
  function openLink(socket: WebSocket, { identity, isCertain, software }: LinkCaller): void {
    trackSocket(socket);
    const { endpoint, keyHash, publicKey } = identity;
    const nonce = randomBytes(NONCE_BYTES).toString("base64");
    const held: unknown[] = [];
    let session: ReturnType<typeof hub.connected> | null = null;
    let isProven = false;
    let isEnding = false;
    const own: Connection = {
      as: null,
      end(code) {
        isEnding = true;
        wire.close(code);
      },
    };
    const wire: LinkTransport = createWebSocketTransport(socket, clock, {
      frame(value) {
        if (isEnding) return;
        if (session) take(value);
        else hold(value);
      },
      closed(reason) {
        session?.closed();
        proofTimer.cancel();
        removeConnection(endpoint, own);
        if (!own.as || linked.get(endpoint) !== own.as) return;
        linked.delete(endpoint);
        log.info({ event: "link.disconnected", endpoint, reason }, "appliance disconnected");
        if (!isStopped) deps.onLinkChanged(endpoint, null);
      },
    });
    addConnection(endpoint, own);
    const proofTimer = clock.after(PROOF_TIMEOUT_MS, () => refuse("timed out waiting for proof of the key"), {
      background: true,
    });
    if (isCertain) enter();
    else wire.sendControl({ t: "challenge", nonce });

    function take(value: unknown): void {
      const message = parseControlMessage(value, "site");
      if (!message) session?.frame(value);
      else if (own.as && message.t !== "proof") deps.onControlMessage(own.as, message);
    }

    function hold(value: unknown): void {
      const message = isProven ? null : parseControlMessage(value, "site");
      if (message?.t !== "proof") {
        if (held.push(value) > (isProven ? MAX_HELD_FRAMES_AFTER_PROOF : MAX_HELD_FRAMES))
          refuse("too many frames before authentication");
      } else if (verifyChallenge(publicKey, buildChallenge(endpoint, nonce), message.proof)) proven();
      else refuse("signature does not match the key");
    }

    /** The key may have been revoked since the connection was opened. */
    function proven(): void {
      isProven = true;
      deps.identify({ keyHash }).then(
        (still) => (still ? enter() : refuse("key revoked")),
        (error: unknown) => {
          log.error({ event: "link.key_lookup_failed", err: error }, "appliance key lookup failed");
          own.end("unproven");
        },
      );
    }

    function refuse(reason: string): void {
      if (session) return;
      log.warn({ event: "link.refused", endpoint, reason }, "appliance refused");
      held.length = 0;
      own.end("unproven");
    }

    function enter(): void {
      if (isStopped || isEnding || session) return;
      proofTimer.cancel();
      session = hub.connected({ ...wire, close: own.end }, endpoint);
      own.as = { endpoint, keyHash, sendControl: wire.sendControl };
      linked.set(endpoint, own.as);
      // An appliance has one link: older connections are fenced.
      for (const other of connections.get(endpoint) ?? []) if (other !== own && other.as) other.end("fenced");
      log.info({ event: "link.connected", endpoint, byCertificate: isCertain }, "appliance connected");
      deps.onLinkChanged(endpoint, { software, keyHash });
      for (const value of held.splice(0)) take(value);
    }
  }

  function disconnectAll(): void {
    for (const socket of open) {
      socket.close(GOING_AWAY);
      socket.terminate();
    }
  }

  function addConnection(endpoint: string, connection: Connection): void {
    const all = connections.get(endpoint) ?? new Set();
    connections.set(endpoint, all.add(connection));
  }

  function removeConnection(endpoint: string, connection: Connection): void {
    const all = connections.get(endpoint);
    all?.delete(connection);
    if (all?.size === 0) connections.delete(endpoint);
  }

  function openEnrolment(socket: WebSocket, address: string): void {
    trackSocket(socket);
    enrolling.push(address);
    socket.once("close", () => {
      enrolling.splice(enrolling.indexOf(address), 1);
    });
    serveEnrolment(socket, enrol, clock);
  }

  /**
   * Identifies a caller by its client certificate or, where a proxy ends TLS, by its token, which requires proof of the
   * key.
   */
  async function identifyCaller(request: IncomingMessage): Promise<LinkCaller | null> {
    const keyHash = certificateKeyHash(request.socket);
    const certain = keyHash === null ? null : await deps.identify({ keyHash });
    const software = request.headers["user-agent"] ?? null;
    if (certain) return { identity: certain, isCertain: true, software };
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
    const held = token === undefined ? null : await deps.identify({ token });
    return held && { identity: held, isCertain: false, software };
  }

  return {
    accept(request, socket, head) {
      const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
      if (offered.includes(ENROL_PROTOCOL)) {
        const address = request.socket.remoteAddress ?? "";
        const ofOne = enrolling.filter((each) => each === address).length;
        if (enrolling.length >= MAX_ENROLLING || ofOne >= MAX_ENROLLING_PER_ADDRESS)
          throw new CallerError("too-many-requests", sentence("error.too-many-enrolments-at-once-retry-later"));
        enrolmentServer.handleUpgrade(request, socket, head, (made) => openEnrolment(made, address));
        return;
      }
      if (!LINK_PROTOCOLS.some((each) => offered.includes(each))) {
        throw new CallerError(
          "invalid-value",
          sentence("error.the-websocket-subprotocol-must-be-protocol-one-side-must-be-upgraded", {
            protocol: LINK_PROTOCOLS.at(-1) ?? "",
          }),
        );
      }
      request.socket.setKeepAlive(true, KEEP_ALIVE_MS);
      identifyCaller(request).then(
        (found) => {
          if (isStopped || socket.destroyed) socket.destroy();
          else if (found) server.handleUpgrade(request, socket, head, (made) => openLink(made, found));
          else socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        },
        (error: unknown) => {
          log.error({ event: "link.identity_lookup_failed", err: error }, "appliance identity lookup failed");
          socket.destroy();
        },
      );
    },
    connected: () => [...linked.keys()],
    sendControl: (endpoint, message) => linked.get(endpoint)?.sendControl(message),
    disconnect(endpoint) {
      for (const each of connections.get(endpoint) ?? []) each.end("revoked");
    },
    disconnectAll,
    stop() {
      isStopped = true;
      disconnectAll();
      server.close();
      enrolmentServer.close();
    },
  };
}

/** Key hash of the client certificate, if it is signed by the organisation's authority; null without one. */
function certificateKeyHash(socket: Socket): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const shown = socket.getPeerCertificate().raw as Buffer | undefined;
  return shown ? (readEndpointCertificate(shown)?.keyHash ?? null) : null;
}
