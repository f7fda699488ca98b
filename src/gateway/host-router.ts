import { Agent, type ClientRequestArgs, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { drainRequest } from "../http/body/drain-request.ts";
import { errorResponseOf, MethodNotAllowedError } from "../http/error-response.ts";
import { rejectUpgrade, type WebSocketUpgradeListener } from "../http/websocket-upgrade.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { parseHostHeader } from "../wiring/api-server.ts";
import type { TenantSupervisor } from "./process-supervisor.ts";
import { openUpstreamConnection, pipeBidirectionally } from "./upstream-connection.ts";

/** The supervisor of the tenant with this host name; null if there is none. */
export type FindTenantSupervisor = (host: string | null) => TenantSupervisor | null;

/** Routes each request to a tenant by its Host header. */
export interface HostRouter {
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade: WebSocketUpgradeListener;
  /** The tenant of a request; if there is none, sends the error response and returns null. */
  supervisorFor(request: IncomingMessage, response: ServerResponse): TenantSupervisor | null;
}

/** Headers of one connection only; trailers are not forwarded. @source RFC 9110 7.6.1 */
const HOP_BY_HOP_HEADERS = ["connection", "keep-alive", "proxy-connection", "upgrade", "trailer"];
/** Never dropped, even if named in Connection: without them a client could hide a second request in the first (request smuggling). */
const REQUIRED_HEADERS = new Set(["host", "content-length", "transfer-encoding"]);
/** Shorter than the 65 s after which a tenant process closes idle connections, so that no request hits a closing connection. */
const IDLE_TIMEOUT_MS = 30_000;
/** Methods that some resource of a tenant's server supports. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const unknownHostError = (): CallerError =>
  new CallerError("wrong-host", sentence("error.no-organisation-has-this-host-name"));
const startingError = (): UpstreamError =>
  new UpstreamError("starting", sentence("error.the-organisation-s-server-is-starting"));
const connectNotAllowedError = (): CallerError => new MethodNotAllowedError(METHODS);
const connectionLostError = (): UpstreamError =>
  new UpstreamError("upstream", sentence("error.the-organisation-s-server-closed-the-connection"));

export function createHostRouter(find: FindTenantSupervisor, clock: Clock): HostRouter {
  /** Upstream connections are separate for each client connection, so requests of two clients never share one. */
  const agents = new WeakMap<Socket, Map<TenantSupervisor, Agent>>();

  function agentFor(client: Socket, supervisor: TenantSupervisor): Agent {
    const ownAgents = agents.get(client) ?? new Map<TenantSupervisor, Agent>();
    if (!agents.has(client)) {
      agents.set(client, ownAgents);
      client.once("close", () => {
        for (const agent of ownAgents.values()) agent.destroy();
      });
    }
    const agent = ownAgents.get(supervisor) ?? new UpstreamAgent(supervisor, client.remoteAddress ?? "");
    ownAgents.set(supervisor, agent);
    return agent;
  }

  function supervisorFor(incoming: IncomingMessage, response: ServerResponse): TenantSupervisor | null {
    const supervisor = find(parseHostHeader(incoming.headers.host));
    if (!supervisor) refuse(incoming, response, unknownHostError());
    return supervisor;
  }

  /** Drains a request that is still being sent, so that the client can read the response before the connection closes. */
  function refuse(incoming: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { status, headers, body } = errorResponseOf(error, newId());
    response.once("finish", () => drainRequest(incoming, clock));
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", ...headers });
    response.end(JSON.stringify(body));
  }

  function proxyRequest(incoming: IncomingMessage, response: ServerResponse, agent: Agent): void {
    const { method, url } = incoming;
    const headers = endToEndHeaders(incoming.rawHeaders, []);
    const upstream = request({ agent, method, path: url, headers, setHost: false, host: "127.0.0.1" });
    let isStarting = false;
    upstream.on("error", (error) => {
      isStarting = (error as { type?: string }).type === "starting";
    });
    // Ended with or without an error. A complete response may still be on its way to the client.
    upstream.once("close", () => {
      incoming.unpipe(upstream);
      if (response.headersSent || response.destroyed) return;
      refuse(incoming, response, isStarting ? startingError() : connectionLostError());
    });
    upstream.on("response", (upstreamResponse) => proxyResponse(upstreamResponse, response));
    response.once("finish", () => {
      // The response came before the request was complete: sending the rest would only block the upstream connection.
      if (incoming.complete) return;
      incoming.unpipe(upstream);
      upstream.destroy();
      drainRequest(incoming, clock);
    });
    response.once("close", () => {
      if (!response.writableFinished) upstream.destroy();
    });
    incoming.on("error", () => upstream.destroy());
    incoming.pipe(upstream);
  }

  return {
    supervisorFor,
    handleRequest(incoming, response) {
      const supervisor = supervisorFor(incoming, response);
      if (!supervisor) return;
      // A tunnel would bypass the routing by host.
      if (incoming.method === "CONNECT") {
        response.shouldKeepAlive = false;
        return refuse(incoming, response, connectNotAllowedError());
      }
      if (!supervisor.target()) return refuse(incoming, response, startingError());
      proxyRequest(incoming, response, agentFor(incoming.socket, supervisor));
    },
    handleUpgrade(incoming, socket, head) {
      socket.on("error", () => socket.destroy());
      const supervisor = find(parseHostHeader(incoming.headers.host));
      if (!supervisor) return rejectUpgrade(socket, unknownHostError());
      openUpstreamConnection(supervisor, incoming.socket.remoteAddress ?? "").then(
        (upstream) => {
          if (socket.destroyed) return void upstream.destroy();
          upstream.write(requestHead(incoming));
          upstream.write(head);
          pipeBidirectionally(socket as Socket, upstream);
        },
        () => rejectUpgrade(socket, startingError()),
      );
    },
  };
}

/** Upstream connections to one tenant for one client connection. */
class UpstreamAgent extends Agent {
  readonly #supervisor: TenantSupervisor;
  readonly #client: string;

  constructor(supervisor: TenantSupervisor, client: string) {
    super({ keepAlive: true, maxSockets: 1, timeout: IDLE_TIMEOUT_MS });
    this.#supervisor = supervisor;
    this.#client = client;
  }

  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    openUpstreamConnection(this.#supervisor, this.#client).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    );
  }
}

function proxyResponse(upstream: IncomingMessage, response: ServerResponse): void {
  // Chunking belongs to each connection: an HTTP/1.0 client does not support it.
  const headers = endToEndHeaders(upstream.rawHeaders, ["transfer-encoding"]);
  response.writeHead(upstream.statusCode as number, upstream.statusMessage, headers);
  // Send the headers at once: event streams may have no data for long.
  response.flushHeaders();
  upstream.on("error", () => response.destroy());
  upstream.pipe(response);
}

/** Names and values in turn, without `dropped`, hop-by-hop headers and those named in Connection. */
function endToEndHeaders(raw: readonly string[], dropped: readonly string[]): string[] {
  const pairs = raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => value.split(","));
  const connectionHeaders = named
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !REQUIRED_HEADERS.has(name));
  const removed = new Set([...HOP_BY_HOP_HEADERS, ...dropped, ...connectionHeaders]);
  return pairs.filter(([name]) => !removed.has(name.toLowerCase())).flat();
}

function requestHead({ method, url, rawHeaders }: IncomingMessage): Buffer {
  const pairs = rawHeaders.map((each, index) => (index % 2 === 0 ? `${each}: ` : `${each}\r\n`));
  return Buffer.from(`${method} ${url} HTTP/1.1\r\n${pairs.join("")}\r\n`, "latin1");
}
