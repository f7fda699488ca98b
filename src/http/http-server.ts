import { createServer, IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { formatListenAddress, type ListenAddress } from "../settings/network-addresses.ts";
import { limitConnections } from "./connection-limits.ts";
import { respondToMalformedRequest } from "./malformed-request.ts";
import type { WebSocketUpgradeListener } from "./websocket-upgrade.ts";

/** Maximum connections of an appliance. @source docs/decisions/0410-admission-control.md, Connections */
const MAX_CONNECTIONS = 2_000;
/**
 * Maximum connections of a cloud: 5,000 links, as many reconnecting ones whose old connections are not yet closed,
 * and callers.
 */
export const MAX_CLOUD_CONNECTIONS = 2 * 5_000 + MAX_CONNECTIONS;
/** Idle timeout of a connection; an upload may take any time while data arrives. */
const IDLE_MS = 60_000;
/**
 * Keep-alive timeout of idle connections. Longer than the usual 60 s of proxies, because a request sent while the
 * server closes the connection would be reset.
 */
const KEEP_ALIVE_MS = 65_000;
/** Grace period for running requests when the server stops. */
const SHUTDOWN_GRACE_MS = 1_000;

/** The HTTP server. */
export interface MainHttpServer {
  /** Local URL: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Passes requests to `listener` and upgrade requests to `upgrade`; until then every request gets 503 `starting`. */
  setRequestListener(listener: RequestListener, upgrade?: WebSocketUpgradeListener): void;
  /** The client has a valid token or session: its connection is not closed in favour of others. */
  markKnownClient(request: IncomingMessage): void;
  /** Replaces the certificate for new connections; only for a server with TLS. */
  setCertificate(certificate: ServerCertificate): void;
  /** Refuses new connections, gives running requests one second, then closes all connections. */
  stop(): Promise<void>;
}

/** TLS certificate of the server, PEM. */
export interface ServerCertificate {
  certificate: string;
  key: string;
  /** Sends HSTS; only for certificates that browsers trust. */
  strictTransportSecurity: boolean;
  /** CA of client certificates; not requested if absent. Clients without a certificate are served too. */
  callers?: string;
}

/** Client address behind a local proxy, by the port of the proxy connection; undefined for direct connections. */
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
 * Allows upgrades to WebSocket only. Clients that offer an upgrade to HTTP/2 must get a normal response; Node decides
 * by this property.
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
 * Binds the address immediately, so that a port conflict is reported first; uses TLS if a certificate is given.
 * Beyond `maxConnections`, connections of strangers are closed. Behind a gateway, `clientAddressOf` returns the real client address
 * of a connection. Rejects with Node's error.
 */
export function startHttpServer(
  { host, port }: ListenAddress,
  clock: Clock,
  certificate: ServerCertificate | null = null,
  maxConnections = MAX_CONNECTIONS,
  clientAddressOf?: ClientAddressOf,
): Promise<MainHttpServer> {
  let listener: RequestListener = respondStarting;
  let hsts = certificate?.strictTransportSecurity === true;
  const startRequest: RequestListener = (request, response) => {
    if (hsts) response.setHeader("Strict-Transport-Security", STRICT_TRANSPORT_SECURITY);
    listener(request, response);
  };
  const secure =
    certificate && createSecureServer({ ...SERVER_OPTIONS, ...tlsOptions(certificate), ...TLS_OPTIONS }, startRequest);
  const server = secure ?? createServer(SERVER_OPTIONS, startRequest);
  // TLS handshake failures of clients are not logged.
  secure?.on("tlsClientError", () => undefined);
  const connections = limitConnections(server, maxConnections);
  server.on(secure ? "secureConnection" : "connection", (socket) => {
    connections.join(socket);
    if (clientAddressOf) overrideRemoteAddress(socket, clientAddressOf);
  });
  server.on("clientError", respondToMalformedRequest);
  server.setTimeout(IDLE_MS);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      const bound = server.address() as AddressInfo;
      resolve({
        url: `${secure ? "https" : "http"}://${formatListenAddress({ host: loopbackForWildcard(host), port: bound.port })}`,
        setRequestListener(next, upgrade) {
          listener = next;
          // Without a listener Node answers offers to upgrade as ordinary requests.
          if (!upgrade) return;
          server.on("upgrade", (request, socket, head) => {
            connections.countUpgrade(request);
            upgrade(request, socket, head);
          });
        },
        markKnownClient: ({ socket }) => connections.markKnown(socket),
        setCertificate(next) {
          hsts = next.strictTransportSecurity;
          secure?.setSecureContext({ ...tlsOptions(next), ...TLS_OPTIONS });
        },
        stop: () => stopServer(server, clock),
      });
    });
  });
}

/** Slow request headers are cut off by timeout; bodies are limited by progress instead. */
const SERVER_OPTIONS = {
  headersTimeout: 5_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // The API refuses requests without a Host header itself, in its error format.
  requireHostHeader: false,
  IncomingMessage: WebSocketAwareRequest,
};

function tlsOptions({ certificate, key, callers }: ServerCertificate) {
  const clientCertificates = callers === undefined ? {} : { ca: callers, requestCert: true, rejectUnauthorized: false };
  return { cert: certificate, key, ...clientCertificates };
}

function overrideRemoteAddress(socket: Socket, clientAddressOf: ClientAddressOf): void {
  const { remoteAddress: socketAddress, remotePort } = socket;
  // Cached, because the port may be reused by another client while a request of this one is still running.
  let known: string | undefined;
  const get = (): string | undefined => {
    if (known === undefined && remotePort !== undefined) known = clientAddressOf(remotePort);
    return known ?? socketAddress;
  };
  Object.defineProperty(socket, "remoteAddress", { get });
}

/** A loopback address for a wildcard listen address. */
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
