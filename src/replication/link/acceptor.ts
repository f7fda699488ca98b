import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../base/clock.ts";
import { CallerError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { readTalk } from "../frame-schemas.ts";
import type { Wire } from "../frames.ts";
import { endpointFacts } from "../identity/certificate-facts.ts";
import type { Identity } from "../identity/enrolment.ts";
import { isProof } from "../identity/own-identity.ts";
import type { HubTalk, SiteTalk } from "../talk.ts";
import { challengeText } from "./challenge.ts";
import { answerEnrolment, ENROL_PROTOCOL, type EnrolmentDesk } from "./enrol-exchange.ts";
import { createSocketWire, KEEP_ALIVE_MS, LINK_PROTOCOLS, type LinkWire, MOST_FRAME_BYTES } from "./socket-wire.ts";

/** What accepting links needs. */
export interface AcceptorNeeds {
  clock: Clock;
  log: Log;
  hub: { connected(wire: Wire, endpoint: string): { frame(value: unknown): void; closed(): void } };
  desk: EnrolmentDesk;
  /** Whose key or token this is, if it is still good. */
  identify(shown: { keyHash: string } | { token: string }): Promise<Identity | null>;
  /** An appliance is linked, by this software as it calls itself; or, with null, is not any more. */
  changed(endpoint: string, linked: { software: string | null; keyHash: string } | null): void;
  /** An appliance that proved to be `by` says something. */
  talk(by: Linked, said: SiteTalk): void;
}

/** An appliance whose link stands. */
export interface Linked {
  endpoint: string;
  keyHash: string;
  say(talk: HubTalk): void;
}

/** The cloud's end of all links. */
export interface Acceptor {
  /** Makes a link of a request at its path. Throws CallerError for what the API would answer. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ids of the appliances whose link stands. */
  connected(): string[];
  /** Says something to an appliance; to one that is not there it is not said. */
  say(endpoint: string, talk: HubTalk): void;
  /** Ends an appliance's link, whose key was taken away. */
  cut(endpoint: string): void;
  stop(): void;
}

/** Who asks for a link, as far as it is known. */
interface Caller {
  identity: Identity;
  /** It showed the certificate; else it has yet to prove its key. */
  isCertain: boolean;
  software: string | null;
}

/** Connections of appliances that are about to be enrolled. own choice: more come again */
const MOST_ENROLLING = 20;
/** Whoever does not prove its key in this time is cut off; what it sends before is held, up to so many frames. own choice */
const PROOF_MS = 15_000;
const MOST_HELD = 8;
const GOING_AWAY = 1001;
const NONCE_BYTES = 32;

/** Makes it. */
export function createAcceptor(needs: AcceptorNeeds): Acceptor {
  const { clock, log, hub, desk } = needs;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MOST_FRAME_BYTES,
    handleProtocols: (offered) => [...LINK_PROTOCOLS, ENROL_PROTOCOL].find((each) => offered.has(each)) ?? false,
  });
  const open = new Set<WebSocket>();
  const linked = new Map<string, Linked & { wire: Wire }>();
  let enrolling = 0;
  let isStopped = false;

  function opened(socket: WebSocket): void {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  }

  /** Lets an appliance in once it is sure who it is: by the certificate that it showed, or by signing what is made up here. */
  function link(socket: WebSocket, { identity, isCertain, software }: Caller): void {
    opened(socket);
    const { endpoint, keyHash, publicKey } = identity;
    const nonce = randomBytes(NONCE_BYTES).toString("base64");
    const held: unknown[] = [];
    let session: ReturnType<typeof hub.connected> | null = null;
    let as: (Linked & { wire: Wire }) | null = null;
    const wire: LinkWire = createSocketWire(socket, clock, {
      frame(value) {
        if (!session) return hold(value);
        const said = readTalk(value, "site");
        if (!said) return session.frame(value);
        if (as && said.t !== "proof") needs.talk(as, said);
      },
      closed(reason) {
        session?.closed();
        patience.cancel();
        if (!as || linked.get(endpoint) !== as) return;
        linked.delete(endpoint);
        log.info({ endpoint, reason }, "an appliance's link ended");
        if (!isStopped) needs.changed(endpoint, null);
      },
    });
    const patience = clock.after(PROOF_MS, () => refuse("It did not prove its key."), { background: true });
    if (isCertain) enter();
    else wire.say({ t: "challenge", nonce });

    function hold(value: unknown): void {
      const said = readTalk(value, "site");
      if (said?.t !== "proof") {
        if (held.push(value) > MOST_HELD) refuse("It does not say who it is.");
      } else if (isProof(publicKey, challengeText(endpoint, nonce), said.proof)) enter();
      else refuse("Its key is another one.");
    }

    function refuse(reason: string): void {
      if (session) return;
      log.warn({ endpoint, reason }, "an appliance was refused");
      held.length = 0;
      wire.close("unproven");
    }

    function enter(): void {
      if (isStopped || session) return;
      patience.cancel();
      session = hub.connected(wire, endpoint);
      as = { endpoint, keyHash, wire, say: wire.say };
      linked.set(endpoint, as);
      log.info({ endpoint, byCertificate: isCertain }, "an appliance is linked");
      needs.changed(endpoint, { software, keyHash });
      for (const value of held.splice(0)) session.frame(value);
    }
  }

  function enrol(socket: WebSocket): void {
    opened(socket);
    enrolling += 1;
    socket.once("close", () => {
      enrolling -= 1;
    });
    answerEnrolment(socket, desk, clock);
  }

  /** Whoever shows a certificate is known by it; where TLS ends on the way, by its token, and must prove its key. */
  async function identify(request: IncomingMessage): Promise<Caller | null> {
    const keyHash = shownKey(request.socket);
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
        if (enrolling >= MOST_ENROLLING)
          throw new CallerError("too-many-requests", "Too many appliances come at once.");
        server.handleUpgrade(request, socket, head, enrol);
        return;
      }
      if (!LINK_PROTOCOLS.some((each) => offered.includes(each))) {
        throw new CallerError("invalid-value", `The link speaks ${LINK_PROTOCOLS.at(-1)}: one side is too old.`);
      }
      request.socket.setKeepAlive(true, KEEP_ALIVE_MS);
      identify(request).then(
        (found) => {
          if (isStopped || socket.destroyed) socket.destroy();
          else if (found) server.handleUpgrade(request, socket, head, (made) => link(made, found));
          else socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        },
        (error: unknown) => {
          log.error({ err: error }, "it could not be looked up who an appliance is");
          socket.destroy();
        },
      );
    },
    connected: () => [...linked.keys()],
    say: (endpoint, talk) => linked.get(endpoint)?.say(talk),
    cut: (endpoint) => linked.get(endpoint)?.wire.close("revoked"),
    stop() {
      isStopped = true;
      for (const socket of open) {
        socket.close(GOING_AWAY);
        socket.terminate();
      }
      server.close();
    },
  };
}

/** Hash of the key whose certificate was shown, if the organisation's authority signed it; null without one. */
function shownKey(socket: Socket): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const shown = socket.getPeerCertificate().raw as Buffer | undefined;
  return shown ? (endpointFacts(shown)?.keyHash ?? null) : null;
}
