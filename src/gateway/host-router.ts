import { Agent, type ClientRequestArgs, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { drainRequest } from "../http/body/drain-request.ts";
import { errorResponseOf, MethodNotAllowedError } from "../http/error-response.ts";
import { rejectUpgrade, type WebSocketUpgradeListener } from "../http/websocket-upgrade.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { parseHostHeader } from "../wiring/api-server.ts";
import type { TenantSupervisor } from "./process-supervisor.ts";
import { openUpstreamConnection, pipeBidirectionally } from "./upstream-connection.ts";

/** Whose process answers to a host name; null for nobody's. */
export type FindTenantSupervisor = (host: string | null) => TenantSupervisor | null;

/** Hands each request on by its Host header. */
export interface HostRouter {
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade: WebSocketUpgradeListener;
  /** Whose request it is; for nobody's it is answered, and null. */
  supervisorFor(request: IncomingMessage, response: ServerResponse): TenantSupervisor | null;
}

/** About the connection between two neighbours alone; trailers are not handed on. @source RFC 9110 7.6.1 */
const HOP_BY_HOP_HEADERS = ["connection", "keep-alive", "proxy-connection", "upgrade", "trailer"];
/** Where a request goes and where it ends: whoever could have them left out could hide a second request in the first. */
const REQUIRED_HEADERS = new Set(["host", "content-length", "transfer-encoding"]);
/** A process closes what is not used for 65 s: nothing is said into a connection that it is about to close. */
const IDLE_TIMEOUT_MS = 30_000;
/** Of any organisation's server, which says for each address which. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const unknownHostError = (): CallerError => new CallerError("wrong-host", "No organisation goes by that name here.");
const startingError = (): UpstreamError => new UpstreamError("starting", "The organisation's server is starting.");
const connectNotAllowedError = (): CallerError => new MethodNotAllowedError(METHODS);
const connectionLostError = (): UpstreamError => new UpstreamError("upstream", "The organisation's server broke off.");

/** Makes it. */
export function createHostRouter(find: FindTenantSupervisor, clock: Clock): HostRouter {
  /** Each caller's connection has ways of its own, so that what two of them say is never on one. */
  const agents = new WeakMap<Socket, Map<TenantSupervisor, Agent>>();

  function agentFor(caller: Socket, keeper: TenantSupervisor): Agent {
    const own = agents.get(caller) ?? new Map<TenantSupervisor, Agent>();
    if (!agents.has(caller)) {
      agents.set(caller, own);
      caller.once("close", () => {
        for (const agent of own.values()) agent.destroy();
      });
    }
    const agent = own.get(keeper) ?? new UpstreamAgent(keeper, caller.remoteAddress ?? "");
    own.set(keeper, agent);
    return agent;
  }

  function supervisorFor(incoming: IncomingMessage, response: ServerResponse): TenantSupervisor | null {
    const keeper = find(parseHostHeader(incoming.headers.host));
    if (!keeper) refuse(incoming, response, unknownHostError());
    return keeper;
  }

  /** Connections of callers that are still sending stay, so that the answer is not lost with them. */
  function refuse(incoming: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { status, headers, body } = errorResponseOf(error, newId());
    response.once("finish", () => drainRequest(incoming, clock));
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", ...headers });
    response.end(JSON.stringify(body));
  }

  function proxyRequest(incoming: IncomingMessage, response: ServerResponse, agent: Agent): void {
    const { method, url } = incoming;
    const headers = endToEndHeaders(incoming.rawHeaders, []);
    const onwards = request({ agent, method, path: url, headers, setHost: false, host: "127.0.0.1" });
    let isStarting = false;
    onwards.on("error", (error) => {
      isStarting = (error as { type?: string }).type === "starting";
    });
    // However it ended: with an error, or without a word. An answer that came as a whole may still be on its way.
    onwards.once("close", () => {
      incoming.unpipe(onwards);
      if (response.headersSent || response.destroyed) return;
      refuse(incoming, response, isStarting ? startingError() : connectionLostError());
    });
    onwards.on("response", (answer) => proxyResponse(answer, response));
    response.once("finish", () => {
      // The answer came before all was said: the rest would keep the way for nothing.
      if (incoming.complete) return;
      incoming.unpipe(onwards);
      onwards.destroy();
      drainRequest(incoming, clock);
    });
    response.once("close", () => {
      if (!response.writableFinished) onwards.destroy();
    });
    incoming.on("error", () => onwards.destroy());
    incoming.pipe(onwards);
  }

  return {
    supervisorFor,
    handleRequest(incoming, response) {
      const keeper = supervisorFor(incoming, response);
      if (!keeper) return;
      // Of what it would open nobody knows what is said in it.
      if (incoming.method === "CONNECT") {
        response.shouldKeepAlive = false;
        return refuse(incoming, response, connectNotAllowedError());
      }
      if (!keeper.target()) return refuse(incoming, response, startingError());
      proxyRequest(incoming, response, agentFor(incoming.socket, keeper));
    },
    handleUpgrade(incoming, socket, head) {
      socket.on("error", () => socket.destroy());
      const keeper = find(parseHostHeader(incoming.headers.host));
      if (!keeper) return rejectUpgrade(socket, unknownHostError());
      openUpstreamConnection(keeper, incoming.socket.remoteAddress ?? "").then(
        (way) => {
          if (socket.destroyed) return void way.destroy();
          way.write(requestHead(incoming));
          way.write(head);
          pipeBidirectionally(socket as Socket, way);
        },
        () => rejectUpgrade(socket, startingError()),
      );
    },
  };
}

/** Connections to one organisation for one caller. */
class UpstreamAgent extends Agent {
  readonly #keeper: TenantSupervisor;
  readonly #caller: string;

  constructor(keeper: TenantSupervisor, caller: string) {
    super({ keepAlive: true, maxSockets: 1, timeout: IDLE_TIMEOUT_MS });
    this.#keeper = keeper;
    this.#caller = caller;
  }

  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    openUpstreamConnection(this.#keeper, this.#caller).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    );
  }
}

function proxyResponse(answer: IncomingMessage, response: ServerResponse): void {
  // Whether it comes in chunks is between the two of each connection: HTTP/1.0 knows none.
  const headers = endToEndHeaders(answer.rawHeaders, ["transfer-encoding"]);
  response.writeHead(answer.statusCode as number, answer.statusMessage, headers);
  // At once: events are waited for.
  response.flushHeaders();
  answer.on("error", () => response.destroy());
  answer.pipe(response);
}

/** Name after name and value, but for `dropped`, those of the connection and those that it names. */
function endToEndHeaders(raw: readonly string[], dropped: readonly string[]): string[] {
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as const] : []));
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => value.split(","));
  const asked = named.map((name) => name.trim().toLowerCase()).filter((name) => !REQUIRED_HEADERS.has(name));
  const left = new Set([...HOP_BY_HOP_HEADERS, ...dropped, ...asked]);
  return pairs.filter(([name]) => !left.has(name.toLowerCase())).flat();
}

function requestHead({ method, url, rawHeaders }: IncomingMessage): Buffer {
  const pairs = rawHeaders.map((each, at) => (at % 2 === 0 ? `${each}: ` : `${each}\r\n`));
  return Buffer.from(`${method} ${url} HTTP/1.1\r\n${pairs.join("")}\r\n`, "latin1");
}
