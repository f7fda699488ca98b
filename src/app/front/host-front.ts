import { Agent, type ClientRequestArgs, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { CallerError, UpstreamError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import { answerOf, MethodNotAllowed } from "../../rest/error-answer.ts";
import { leaveUnread } from "../../rest/leave-unread.ts";
import { refuseUpgrade, type UpgradeListener } from "../../rest/upgrade.ts";
import { hostOf } from "../secure-server.ts";
import type { Keeper } from "./keeper.ts";
import { join, openWay } from "./way.ts";

/** Whose process answers to a host name; null for nobody's. */
export type FindKeeper = (host: string | null) => Keeper | null;

/** Hands each request on by its Host header. */
export interface HostFront {
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade: UpgradeListener;
  /** Whose request it is; for nobody's it is answered, and null. */
  keeperOf(request: IncomingMessage, response: ServerResponse): Keeper | null;
}

/** About the connection between two neighbours alone; trailers are not handed on. @source RFC 9110 7.6.1 */
const OF_THE_CONNECTION = ["connection", "keep-alive", "proxy-connection", "upgrade", "trailer"];
/** Where a request goes and where it ends: whoever could have them left out could hide a second request in the first. */
const ALWAYS = new Set(["host", "content-length", "transfer-encoding"]);
/** A process closes what is not used for 65 s: nothing is said into a connection that it is about to close. */
const UNUSED_MS = 30_000;
/** Of any organisation's server, which says for each address which. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const unknown = (): CallerError => new CallerError("wrong-host", "No organisation goes by that name here.");
const notThere = (): UpstreamError => new UpstreamError("starting", "The organisation's server is starting.");
const noTunnel = (): CallerError => new MethodNotAllowed(METHODS);
const brokenOff = (): UpstreamError => new UpstreamError("upstream", "The organisation's server broke off.");

/** Makes it. */
export function createHostFront(find: FindKeeper, clock: Clock): HostFront {
  /** Each caller's connection has ways of its own, so that what two of them say is never on one. */
  const agents = new WeakMap<Socket, Map<Keeper, Agent>>();

  function agentOf(caller: Socket, keeper: Keeper): Agent {
    const own = agents.get(caller) ?? new Map<Keeper, Agent>();
    if (!agents.has(caller)) {
      agents.set(caller, own);
      caller.once("close", () => {
        for (const agent of own.values()) agent.destroy();
      });
    }
    const agent = own.get(keeper) ?? new WayAgent(keeper, caller.remoteAddress ?? "");
    own.set(keeper, agent);
    return agent;
  }

  function keeperOf(incoming: IncomingMessage, response: ServerResponse): Keeper | null {
    const keeper = find(hostOf(incoming.headers.host));
    if (!keeper) refuse(incoming, response, unknown());
    return keeper;
  }

  /** Connections of callers that are still sending stay, so that the answer is not lost with them. */
  function refuse(incoming: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { status, headers, body } = answerOf(error, newId());
    response.once("finish", () => leaveUnread(incoming, clock));
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", ...headers });
    response.end(JSON.stringify(body));
  }

  function handOn(incoming: IncomingMessage, response: ServerResponse, agent: Agent): void {
    const { method, url } = incoming;
    const headers = handedOn(incoming.rawHeaders, []);
    const onwards = request({ agent, method, path: url, headers, setHost: false, host: "127.0.0.1" });
    let isStarting = false;
    onwards.on("error", (error) => {
      isStarting = (error as { type?: string }).type === "starting";
    });
    // However it ended: with an error, or without a word. An answer that came as a whole may still be on its way.
    onwards.once("close", () => {
      incoming.unpipe(onwards);
      if (response.headersSent || response.destroyed) return;
      refuse(incoming, response, isStarting ? notThere() : brokenOff());
    });
    onwards.on("response", (answer) => giveBack(answer, response));
    response.once("finish", () => {
      // The answer came before all was said: the rest would keep the way for nothing.
      if (incoming.complete) return;
      incoming.unpipe(onwards);
      onwards.destroy();
      leaveUnread(incoming, clock);
    });
    response.once("close", () => {
      if (!response.writableFinished) onwards.destroy();
    });
    incoming.on("error", () => onwards.destroy());
    incoming.pipe(onwards);
  }

  return {
    keeperOf,
    request(incoming, response) {
      const keeper = keeperOf(incoming, response);
      if (!keeper) return;
      // Of what it would open nobody knows what is said in it.
      if (incoming.method === "CONNECT") {
        response.shouldKeepAlive = false;
        return refuse(incoming, response, noTunnel());
      }
      if (!keeper.target()) return refuse(incoming, response, notThere());
      handOn(incoming, response, agentOf(incoming.socket, keeper));
    },
    upgrade(incoming, socket, head) {
      socket.on("error", () => socket.destroy());
      const keeper = find(hostOf(incoming.headers.host));
      if (!keeper) return refuseUpgrade(socket, unknown());
      openWay(keeper, incoming.socket.remoteAddress ?? "").then(
        (way) => {
          if (socket.destroyed) return void way.destroy();
          way.write(headOf(incoming));
          way.write(head);
          join(socket as Socket, way);
        },
        () => refuseUpgrade(socket, notThere()),
      );
    },
  };
}

/** Connections to one organisation for one caller. */
class WayAgent extends Agent {
  readonly #keeper: Keeper;
  readonly #caller: string;

  constructor(keeper: Keeper, caller: string) {
    super({ keepAlive: true, maxSockets: 1, timeout: UNUSED_MS });
    this.#keeper = keeper;
    this.#caller = caller;
  }

  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    openWay(this.#keeper, this.#caller).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    );
  }
}

function giveBack(answer: IncomingMessage, response: ServerResponse): void {
  // Whether it comes in chunks is between the two of each connection: HTTP/1.0 knows none.
  const headers = handedOn(answer.rawHeaders, ["transfer-encoding"]);
  response.writeHead(answer.statusCode as number, answer.statusMessage, headers);
  // At once: events are waited for.
  response.flushHeaders();
  answer.on("error", () => response.destroy());
  answer.pipe(response);
}

/** Name after name and value, but for `dropped`, those of the connection and those that it names. */
function handedOn(raw: readonly string[], dropped: readonly string[]): string[] {
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as const] : []));
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => value.split(","));
  const asked = named.map((name) => name.trim().toLowerCase()).filter((name) => !ALWAYS.has(name));
  const left = new Set([...OF_THE_CONNECTION, ...dropped, ...asked]);
  return pairs.filter(([name]) => !left.has(name.toLowerCase())).flat();
}

function headOf({ method, url, rawHeaders }: IncomingMessage): Buffer {
  const pairs = rawHeaders.map((each, at) => (at % 2 === 0 ? `${each}: ` : `${each}\r\n`));
  return Buffer.from(`${method} ${url} HTTP/1.1\r\n${pairs.join("")}\r\n`, "latin1");
}
