import { createServer, IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { formatListenAddress, type ListenAddress } from "../settings/network-addresses.ts";
import { respondToMalformedRequest } from "./malformed-request.ts";
import type { WebSocketUpgradeListener } from "./websocket-upgrade.ts";

/** Connections at once to an appliance; more are refused. own choice */
const MAX_CONNECTIONS = 2_000;
/** To a cloud: 5,000 links, as many that come again before their old ones are found to be gone, and callers. own choice */
export const MAX_CLOUD_CONNECTIONS = 2 * 5_000 + MAX_CONNECTIONS;
/** A connection on which nothing moves for so long is closed; an upload may take any time while it moves. own choice */
const IDLE_MS = 60_000;
/**
 * How long a connection waits for its next request. Longer than the minute for which proxies keep theirs, and than a
 * client may be busy: whoever sends while the server closes gets a reset in the place of an answer. own choice
 */
const KEEP_ALIVE_MS = 65_000;
/** Requests begun in one turn of the event loop: one packet may bring a thousand, which would hold up all others. own choice */
const REQUESTS_PER_TURN = 32;
/** How long requests under way may take to end once the server stops. */
const SHUTDOWN_GRACE_MS = 1_000;

/** The main HTTP server. */
export interface MainHttpServer {
  /** Where clients on this machine reach it: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Begins to hand requests to `listener`, those that want to leave HTTP to `upgrade`; until then each is answered 503 `starting`. */
  setRequestListener(listener: RequestListener, upgrade?: WebSocketUpgradeListener): void;
  /** Shows another certificate to whoever connects from now on; only for a server with TLS. */
  setCertificate(shown: ServerCertificate): void;
  /** Refuses new connections, lets requests under way end for a second, then cuts them off. */
  stop(): Promise<void>;
}

/** What a server with TLS shows; PEM. */
export interface ServerCertificate {
  certificate: string;
  key: string;
  /** Browsers are told never to come without TLS again, which only a certificate that they trust may do. */
  strictTransportSecurity: boolean;
  /** Authority whose certificates callers may show; none is asked for unless given. Callers without one are served too. */
  callers?: string;
}

/** Who really comes from a port of this machine; undefined for whoever comes by itself. */
export type ClientAddressOf = (port: number) => string | undefined;

/** TLS 1.2 with forward secrecy and authenticated encryption, and 1.3. @source RFC 9325 4.2 */
const TLS_OPTIONS = {
  minVersion: "TLSv1.2",
  ciphers: [
    ...["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"],
    ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"],
    ...["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
  ].join(":"),
  honorCipherOrder: true,
} as const;
/** One year. @source RFC 6797 6.1 */
const STRICT_TRANSPORT_SECURITY = "max-age=31536000";

/**
 * A request that leaves HTTP for a WebSocket alone. Clients that would rather speak HTTP/2 offer to leave it too, and must
 * get their answer all the same; the server decides by this member.
 */
class WebSocketAwareRequest extends IncomingMessage {
  declare offered: boolean;

  get upgrade(): boolean {
    return this.offered && this.headers.upgrade?.toLowerCase() === "websocket";
  }
  set upgrade(offered: boolean) {
    this.offered = offered;
  }
}

/**
 * Takes the address at once, so that a taken one is known before anything else is done; speaks TLS where a certificate is
 * given. More than `most` connections at once are refused. Where a front hands callers on, `callerAt` says whose address
 * each connection is to have. Rejects with Node's error.
 */
export function startHttpServer(
  { host, port }: ListenAddress,
  clock: Clock,
  shown: ServerCertificate | null = null,
  most = MAX_CONNECTIONS,
  callerAt?: ClientAddressOf,
): Promise<MainHttpServer> {
  let listener: RequestListener = respondStarting;
  let strict = shown?.strictTransportSecurity === true;
  const beginRequest = limitRequestsPerTurn(clock, (request, response) => {
    if (strict) response.setHeader("Strict-Transport-Security", STRICT_TRANSPORT_SECURITY);
    listener(request, response);
  });
  const secure = shown && createSecureServer({ ...SERVER_OPTIONS, ...tlsOptions(shown), ...TLS_OPTIONS }, beginRequest);
  const server = secure ?? createServer(SERVER_OPTIONS, beginRequest);
  // Whoever breaks off while greeting, or speaks no TLS, concerns nobody.
  secure?.on("tlsClientError", () => undefined);
  if (callerAt)
    server.prependListener(secure ? "secureConnection" : "connection", (socket) =>
      overrideRemoteAddress(socket, callerAt),
    );
  server.on("clientError", respondToMalformedRequest);
  server.maxConnections = most;
  server.setTimeout(IDLE_MS);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      const bound = server.address() as AddressInfo;
      resolve({
        url: `${secure ? "https" : "http"}://${formatListenAddress({ host: loopbackForWildcard(host), port: bound.port })}`,
        setRequestListener(next, upgrade) {
          listener = next;
          if (upgrade) server.on("upgrade", upgrade);
        },
        setCertificate(next) {
          strict = next.strictTransportSecurity;
          secure?.setSecureContext({ ...tlsOptions(next), ...TLS_OPTIONS });
        },
        stop: () => stopServer(server, clock),
      });
    });
  });
}

/** A client that dribbles its headers is cut off; what a body may take is judged by progress. */
const SERVER_OPTIONS = {
  headersTimeout: 5_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // The API refuses requests without a host itself, in its own error form.
  requireHostHeader: false,
  IncomingMessage: WebSocketAwareRequest,
};

function tlsOptions({ certificate, key, callers }: ServerCertificate) {
  const asked = callers === undefined ? {} : { ca: callers, requestCert: true, rejectUnauthorized: false };
  return { cert: certificate, key, ...asked };
}

/** Begins at most so many requests per turn, in their order; the others wait. */
function limitRequestsPerTurn(clock: Clock, begin: RequestListener): RequestListener {
  const waiting: Parameters<RequestListener>[] = [];
  let begun = 0;
  const turn = (): void => {
    begun = 0;
    for (const [request, response] of waiting.splice(0, REQUESTS_PER_TURN)) {
      begun++;
      begin(request, response);
    }
    if (begun > 0) clock.defer(turn);
  };
  return (request, response) => {
    if (begun === 0) clock.defer(turn);
    begun++;
    if (begun <= REQUESTS_PER_TURN && waiting.length === 0) begin(request, response);
    else waiting.push([request, response]);
  };
}

function overrideRemoteAddress(socket: Socket, callerAt: ClientAddressOf): void {
  const { remoteAddress: own, remotePort } = socket;
  // Once known it stays: the port may be somebody else's while a request of this one is still at work.
  let known: string | undefined;
  const get = (): string | undefined => {
    if (known === undefined && remotePort !== undefined) known = callerAt(remotePort);
    return known ?? own;
  };
  Object.defineProperty(socket, "remoteAddress", { get });
}

/** An address for one that stands for all addresses. */
export function loopbackForWildcard(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

const respondStarting: RequestListener = (_request, response) => {
  const body = JSON.stringify({ status: 503, type: "starting", message: "Carillon is starting." });
  response.writeHead(503, { "Content-Type": "application/json", "Retry-After": "1" });
  response.end(body);
};

function stopServer(server: Server, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(SHUTDOWN_GRACE_MS, () => server.closeAllConnections());
    server.close(() => {
      timer.cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
