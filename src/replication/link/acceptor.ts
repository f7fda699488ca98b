import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../base/clock.ts";
import { CallerError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Wire } from "../frames.ts";
import { answerEnrolment, ENROL_PROTOCOL, type EnrolmentDesk } from "./enrol-exchange.ts";
import { createSocketWire, LINK_PROTOCOL, MOST_FRAME_BYTES } from "./socket-wire.ts";

/** What accepting links needs. */
export interface AcceptorNeeds {
  clock: Clock;
  log: Log;
  hub: { connected(wire: Wire, endpoint: string): { frame(value: unknown): void; closed(): void } };
  desk: EnrolmentDesk;
  /** The appliance that a token belongs to, if it is still good. */
  whoHolds(token: string): Promise<string | null>;
  /** Appliances that are connected are other ones. */
  changed(endpoint: string, isConnected: boolean): void;
}

/** The cloud's end of all links. */
export interface Acceptor {
  /** Makes a link of a request at its path. Throws CallerError for what the API would answer. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ids of the appliances whose link stands. */
  connected(): string[];
  stop(): void;
}

/** Connections of appliances that are about to be enrolled. own choice: more come again */
const MOST_ENROLLING = 20;
const GOING_AWAY = 1001;

/** Makes it. */
export function createAcceptor({ clock, log, hub, desk, whoHolds, changed }: AcceptorNeeds): Acceptor {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MOST_FRAME_BYTES,
    handleProtocols: (offered) => [LINK_PROTOCOL, ENROL_PROTOCOL].find((each) => offered.has(each)) ?? false,
  });
  const open = new Set<WebSocket>();
  const linked = new Map<string, WebSocket>();
  let enrolling = 0;
  let isStopped = false;

  function opened(socket: WebSocket): void {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  }

  function link(socket: WebSocket, endpoint: string): void {
    opened(socket);
    let session: ReturnType<typeof hub.connected> | null = null;
    const wire = createSocketWire(socket, clock, {
      frame: (value) => session?.frame(value),
      closed(reason) {
        session?.closed();
        if (linked.get(endpoint) !== socket) return;
        linked.delete(endpoint);
        log.info({ endpoint, reason }, "an appliance's link ended");
        if (!isStopped) changed(endpoint, false);
      },
    });
    session = hub.connected(wire, endpoint);
    linked.set(endpoint, socket);
    log.info({ endpoint }, "an appliance is linked");
    changed(endpoint, true);
  }

  function enrol(socket: WebSocket): void {
    opened(socket);
    enrolling += 1;
    socket.once("close", () => {
      enrolling -= 1;
    });
    answerEnrolment(socket, desk, clock);
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
      if (!offered.includes(LINK_PROTOCOL)) {
        throw new CallerError("invalid-value", `The link speaks ${LINK_PROTOCOL}: one side is too old.`);
      }
      const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
      whoHolds(token).then(
        (endpoint) => {
          if (isStopped || socket.destroyed) return socket.destroy();
          if (endpoint !== null) return server.handleUpgrade(request, socket, head, (made) => link(made, endpoint));
          socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        },
        (error: unknown) => {
          log.error({ err: error }, "it could not be looked up who holds a token");
          socket.destroy();
        },
      );
    },
    connected: () => [...linked.keys()],
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
