import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { createHostCheck, isSameOrigin } from "../auth/host-check.ts";
import { type AccessControl, actorOf, type Principal } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import { CallerError, forbidden, invalidValue, notFound } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext } from "../store/store.ts";
import { accessTokenOf } from "./bearer-token.ts";
import { errorResponseOf, misdirectedRequest, unauthorized } from "./error-response.ts";
import { clientAddress, splitTarget } from "./incoming-request.ts";
import { parseQuery, type Query, textParameter } from "./query/query.ts";

/** What an HTTP server does with a request that wants to leave HTTP. */
export type WebSocketUpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** What `createUpgrade` needs. */
export interface WebSocketUpgradeDeps {
  access: AccessControl;
  settings: Pick<Settings, "listen" | "api">;
  /** Goes on with a request of somebody who may follow the live feed; may throw what the API would answer. */
  openLiveFeed(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    follower: { principal: Principal; since: number | null; domainId: string | null },
  ): void;
  /** Goes on with somebody who may speak live; may throw what the API would answer. */
  openLivePage(request: IncomingMessage, socket: Duplex, head: Buffer, by: ActorContext): void;
  /** Goes on with an appliance that wants to be linked; null where none can be. */
  openApplianceLink?: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null;
}

/** The addresses that are no resources: their answers are streams. */
const LIVE = "/api/live";
const LIVE_PAGE = "/api/live-page";
/** @source replication.md 6 */
const LINK = "/api/onprem/v1/link";

/** Judges who asks for the live feed, or to speak, as the API judges its callers, and refuses in the API's error form. */
export function createWebSocketUpgrade({
  access,
  settings,
  openLiveFeed,
  openLivePage,
  openApplianceLink,
}: WebSocketUpgradeDeps): WebSocketUpgradeListener {
  const isOurs = createHostCheck({ listen: settings.listen, hosts: settings.api.hosts });
  return (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    try {
      if (!isOurs({ host: request.headers.host ?? null, localAddress: request.socket.localAddress }))
        throw misdirectedRequest();
      const { path, search } = splitTarget(request.url ?? "/");
      if (path === LINK && openApplianceLink) return openApplianceLink(request, socket, head);
      if (path !== LIVE && path !== LIVE_PAGE) throw notFound();
      const query = parseQuery(search);
      const principal = authenticateUpgrade(request, query, access);
      const domainId = textParameter(query, "domain") || null;
      // Refuses a domain in which the caller may not act.
      const scope = access.resolveScope(principal, domainId);
      if (path === LIVE_PAGE) {
        if (!scope.allows("post", "/live-pages")) throw forbidden();
        return openLivePage(request, socket, head, { actor: actorOf(principal, clientAddress(request)), scope });
      }
      openLiveFeed(request, socket, head, { principal, since: sinceOf(query), domainId });
    } catch (error) {
      rejectUpgrade(socket, error);
    }
  };
}

/** Browsers open WebSockets to any site and send its cookies along: the page must be our own. */
function authenticateUpgrade(request: IncomingMessage, query: Query, access: AccessControl): Principal {
  const { authorization, cookie, origin, host } = request.headers;
  const token = accessTokenOf(authorization ?? null, query);
  const secure = "encrypted" in request.socket;
  const session = token === null ? readSessionCookie(cookie ?? null, secure) : null;
  const principal =
    token !== null ? access.authenticate(token) : session && access.authenticate(session, "cookie", false);
  if (!principal) throw unauthorized();
  if (session !== null && !isSameOrigin(origin ?? null, host ?? null, secure)) {
    throw new CallerError("forbidden", "Only the console's own pages may ask for this.");
  }
  return principal;
}

function sinceOf(query: Query): number | null {
  const text = textParameter(query, "since");
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw invalidValue("since", "It is the seq of an earlier message.");
  return Number(text);
}

/** Answers in the API's error form somebody who wants to leave HTTP, and ends the connection. */
export function rejectUpgrade(socket: Duplex, error: unknown): void {
  const { status, headers, body } = errorResponseOf(error, newId());
  const text = JSON.stringify(body);
  const all = { "Content-Type": "application/json; charset=utf-8", Connection: "close", ...headers };
  const head = Object.entries({ ...all, "Content-Length": Buffer.byteLength(text) });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${text}`);
}
