import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
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

/** What accepting links needs. */
export interface AcceptorDeps {
  clock: Clock;
  log: Log;
  hub: { connected(wire: FrameTransport, endpoint: string): { frame(value: unknown): void; closed(): void } };
  enrol: EnrolmentHandler;
  /** Whose key or token this is, if it is still good. */
  identify(shown: { keyHash: string } | { token: string }): Promise<ApplianceIdentity | null>;
  /** An appliance is linked, by this software as it calls itself; or, with null, is not any more. */
  onLinkChanged(endpoint: string, linked: { software: string | null; keyHash: string } | null): void;
  /** An appliance that proved to be `by` says something. */
  onControlMessage(by: LinkedSite, said: SiteControlMessage): void;
}

/** An appliance whose link stands. */
export interface LinkedSite {
  endpoint: string;
  keyHash: string;
  sendControl(talk: HubControlMessage): void;
}

/** The cloud's end of all links. */
export interface Acceptor {
  /** Makes a link of a request at its path. Throws CallerError for what the API would answer. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ids of the appliances whose link stands. */
  connected(): string[];
  /** Says something to an appliance; to one that is not there it is not said. */
  sendControl(endpoint: string, talk: HubControlMessage): void;
  /** Ends all connections of an appliance whose key was taken away; what they still say is not heard. */
  disconnect(endpoint: string): void;
  /** Ends all connections; those that come from now on are taken. */
  disconnectAll(): void;
  stop(): void;
}

/** One connection of an appliance, which may yet have to prove its key. */
interface Connection {
  as: LinkedSite | null;
  end(code: string): void;
}

/** Who asks for a link, as far as it is known. */
interface LinkCaller {
  identity: ApplianceIdentity;
  /** It showed the certificate; else it has yet to prove its key. */
  isCertain: boolean;
  software: string | null;
}

/** Connections of appliances that are about to be enrolled. own choice: more come again */
const MAX_ENROLLING = 20;
/** Of those, from one address. own choice */
const MAX_ENROLLING_PER_ADDRESS = 5;
/** Longest request to be enrolled, in bytes. own choice: a code and a request for a certificate take 2 KB */
const MAX_ENROLMENT_BYTES = 16 * 1024;
/** Whoever does not prove its key in this time is cut off; what it sends before is held, up to so many frames. own choice */
const PROOF_TIMEOUT_MS = 15_000;
const MAX_HELD_FRAMES = 8;
/** The same, while it is looked up whether a key that was proven is still good. */
const MAX_HELD_FRAMES_AFTER_PROOF = 64;
const GOING_AWAY = 1001;
const NONCE_BYTES = 32;

/** Makes it. */
export function createAcceptor(needs: AcceptorDeps): Acceptor {
  const { clock, log, hub, enrol: desk } = needs;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (offered) => LINK_PROTOCOLS.find((each) => offered.has(each)) ?? false,
  });
  const strangers = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_ENROLMENT_BYTES,
    handleProtocols: () => ENROL_PROTOCOL,
  });
  const open = new Set<WebSocket>();
  const linked = new Map<string, LinkedSite>();
  const connections = new Map<string, Set<Connection>>();
  /** Addresses of those that are about to be enrolled. */
  const enrolling: string[] = [];
  let isStopped = false;

  function trackSocket(socket: WebSocket): void {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  }

  /** Lets an appliance in once it is sure who it is: by the certificate that it showed, or by signing what is made up here. */
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
        patience.cancel();
        removeConnection(endpoint, own);
        if (!own.as || linked.get(endpoint) !== own.as) return;
        linked.delete(endpoint);
        log.info({ endpoint, reason }, "an appliance's link ended");
        if (!isStopped) needs.onLinkChanged(endpoint, null);
      },
    });
    addConnection(endpoint, own);
    const patience = clock.after(PROOF_TIMEOUT_MS, () => refuse("It did not prove its key."), { background: true });
    if (isCertain) enter();
    else wire.sendControl({ t: "challenge", nonce });

    function take(value: unknown): void {
      const said = parseControlMessage(value, "site");
      if (!said) session?.frame(value);
      else if (own.as && said.t !== "proof") needs.onControlMessage(own.as, said);
    }

    function hold(value: unknown): void {
      const said = isProven ? null : parseControlMessage(value, "site");
      if (said?.t !== "proof") {
        if (held.push(value) > (isProven ? MAX_HELD_FRAMES_AFTER_PROOF : MAX_HELD_FRAMES))
          refuse("It does not say who it is.");
      } else if (verifyChallenge(publicKey, buildChallenge(endpoint, nonce), said.proof)) proven();
      else refuse("Its key is another one.");
    }

    /** The key may have been taken away since it was shown. */
    function proven(): void {
      isProven = true;
      needs.identify({ keyHash }).then(
        (still) => (still ? enter() : refuse("Its key was taken away.")),
        (error: unknown) => {
          log.error({ err: error }, "it could not be looked up whether a key is still good");
          own.end("unproven");
        },
      );
    }

    function refuse(reason: string): void {
      if (session) return;
      log.warn({ endpoint, reason }, "an appliance was refused");
      held.length = 0;
      own.end("unproven");
    }

    function enter(): void {
      if (isStopped || isEnding || session) return;
      patience.cancel();
      session = hub.connected({ ...wire, close: own.end }, endpoint);
      own.as = { endpoint, keyHash, sendControl: wire.sendControl };
      linked.set(endpoint, own.as);
      // An appliance has one link: what is left of those before hears and says nothing more.
      for (const other of connections.get(endpoint) ?? []) if (other !== own && other.as) other.end("fenced");
      log.info({ endpoint, byCertificate: isCertain }, "an appliance is linked");
      needs.onLinkChanged(endpoint, { software, keyHash });
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
    serveEnrolment(socket, desk, clock);
  }

  /** Whoever shows a certificate is known by it; where TLS ends on the way, by its token, and must prove its key. */
  async function identifyCaller(request: IncomingMessage): Promise<LinkCaller | null> {
    const keyHash = certificateKeyHash(request.socket);
    const certain = keyHash === null ? null : await needs.identify({ keyHash });
    const software = request.headers["user-agent"] ?? null;
    if (certain) return { identity: certain, isCertain: true, software };
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
    const held = token === undefined ? null : await needs.identify({ token });
    return held && { identity: held, isCertain: false, software };
  }

  return {
    accept(request, socket, head) {
      const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
      if (offered.includes(ENROL_PROTOCOL)) {
        const address = request.socket.remoteAddress ?? "";
        const ofOne = enrolling.filter((each) => each === address).length;
        if (enrolling.length >= MAX_ENROLLING || ofOne >= MAX_ENROLLING_PER_ADDRESS)
          throw new CallerError("too-many-requests", "Too many appliances come at once.");
        strangers.handleUpgrade(request, socket, head, (made) => openEnrolment(made, address));
        return;
      }
      if (!LINK_PROTOCOLS.some((each) => offered.includes(each))) {
        throw new CallerError("invalid-value", `The link speaks ${LINK_PROTOCOLS.at(-1)}: one side is too old.`);
      }
      request.socket.setKeepAlive(true, KEEP_ALIVE_MS);
      identifyCaller(request).then(
        (found) => {
          if (isStopped || socket.destroyed) socket.destroy();
          else if (found) server.handleUpgrade(request, socket, head, (made) => openLink(made, found));
          else socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        },
        (error: unknown) => {
          log.error({ err: error }, "it could not be looked up who an appliance is");
          socket.destroy();
        },
      );
    },
    connected: () => [...linked.keys()],
    sendControl: (endpoint, talk) => linked.get(endpoint)?.sendControl(talk),
    disconnect(endpoint) {
      for (const each of connections.get(endpoint) ?? []) each.end("revoked");
    },
    disconnectAll,
    stop() {
      isStopped = true;
      disconnectAll();
      server.close();
      strangers.close();
    },
  };
}

/** Hash of the key whose certificate was shown, if the organisation's authority signed it; null without one. */
function certificateKeyHash(socket: Socket): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const shown = socket.getPeerCertificate().raw as Buffer | undefined;
  return shown ? (readEndpointCertificate(shown)?.keyHash ?? null) : null;
}
