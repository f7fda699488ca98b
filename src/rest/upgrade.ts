import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { createHostCheck, isOwnOrigin } from "../access/hosts.ts";
import { type Access, actorOf, type Principal } from "../access/principal.ts";
import { tokenInCookie } from "../access/session-cookie.ts";
import { CallerError, forbidden, invalidValue, notFound } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Settings } from "../settings/schema.ts";
import type { By } from "../store/store.ts";
import { tokenOf } from "./bearer.ts";
import { answerOf, unauthorized, wrongHost } from "./error-answer.ts";
import { addressOf, splitTarget } from "./incoming.ts";
import { parseQuery, type Query, singleText } from "./query.ts";

/** What an HTTP server does with a request that wants to leave HTTP. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** What `createUpgrade` needs. */
export interface UpgradeNeeds {
  access: Access;
  settings: Pick<Settings, "listen" | "api">;
  /** Goes on with a request of somebody who may follow the live feed; may throw what the API would answer. */
  follow(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    follower: { principal: Principal; since: number | null; domainId: string | null },
  ): void;
  /** Goes on with somebody who may speak live; may throw what the API would answer. */
  speak(request: IncomingMessage, socket: Duplex, head: Buffer, by: By): void;
  /** Goes on with an appliance that wants to be linked; null where none can be. */
  link?: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null;
}

/** The addresses that are no resources: their answers are streams. */
const LIVE = "/api/live";
const LIVE_PAGE = "/api/live-page";
/** @source replication.md 6 */
const LINK = "/api/onprem/v1/link";

/** Judges who asks for the live feed, or to speak, as the API judges its callers, and refuses in the API's error form. */
export function createUpgrade({ access, settings, follow, speak, link }: UpgradeNeeds): UpgradeListener {
  const isOurs = createHostCheck({ listen: settings.listen, hosts: settings.api.hosts });
  return (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    try {
      if (!isOurs({ host: request.headers.host ?? null, localAddress: request.socket.localAddress })) throw wrongHost();
      const { path, search } = splitTarget(request.url ?? "/");
      if (path === LINK && link) return link(request, socket, head);
      if (path !== LIVE && path !== LIVE_PAGE) throw notFound();
      const query = parseQuery(search);
      const principal = callerOf(request, query, access);
      const domainId = singleText(query, "domain") || null;
      // Refuses a domain in which the caller may not act.
      const scope = access.scopeOf(principal, domainId);
      if (path === LIVE_PAGE) {
        if (!scope.allows("post", "/live-pages")) throw forbidden();
        return speak(request, socket, head, { actor: actorOf(principal, addressOf(request)), scope });
      }
      follow(request, socket, head, { principal, since: sinceOf(query), domainId });
    } catch (error) {
      refuseUpgrade(socket, error);
    }
  };
}

/** Browsers open WebSockets to any site and send its cookies along: the page must be our own. */
function callerOf(request: IncomingMessage, query: Query, access: Access): Principal {
  const { authorization, cookie, origin, host } = request.headers;
  const token = tokenOf(authorization ?? null, query);
  const secure = "encrypted" in request.socket;
  const session = token === null ? tokenInCookie(cookie ?? null, secure) : null;
  const principal =
    token !== null ? access.authenticate(token) : session && access.authenticate(session, "cookie", false);
  if (!principal) throw unauthorized();
  if (session !== null && !isOwnOrigin(origin ?? null, host ?? null, secure)) {
    throw new CallerError("forbidden", "Only the console's own pages may ask for this.");
  }
  return principal;
}

function sinceOf(query: Query): number | null {
  const text = singleText(query, "since");
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw invalidValue("since", "It is the seq of an earlier message.");
  return Number(text);
}

/** Answers in the API's error form somebody who wants to leave HTTP, and ends the connection. */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  const { status, headers, body } = answerOf(error, newId());
  const text = JSON.stringify(body);
  const all = { "Content-Type": "application/json; charset=utf-8", Connection: "close", ...headers };
  const head = Object.entries({ ...all, "Content-Length": Buffer.byteLength(text) });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${text}`);
}
