import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { createHostCheck, isSameOrigin } from "../auth/host-check.ts";
import { type AccessControl, actorOf, type Principal } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import { CallerError, forbidden, invalidValue, notFound } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext } from "../store/store.ts";
import { accessTokenOf } from "./bearer-token.ts";
import { errorResponseOf, unauthorized } from "./error-response.ts";
import { clientAddress, clientOf, createForwardedClientReader } from "./forwarded-client.ts";
import { assertOwnHost } from "./host-header.ts";
import { splitTarget } from "./incoming-request.ts";
import { parseQuery, type Query, textParameter } from "./query/query.ts";
import { DATA_SECURITY_HEADERS } from "./security-headers.ts";

/** Handler of upgrade requests. */
export type WebSocketUpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Dependencies of the WebSocket upgrade. */
export interface WebSocketUpgradeDeps {
  access: AccessControl;
  settings: Pick<Settings, "listen" | "api">;
  /** Accepts an authorized subscriber of the live feed; may throw API errors. */
  openLiveFeed(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    follower: { principal: Principal; since: number | null; domainId: string | null },
  ): void;
  /** Accepts an authorized speaker of a live page; may throw API errors. */
  openLivePage(request: IncomingMessage, socket: Duplex, head: Buffer, by: ActorContext): void;
  /** Accepts an appliance that opens its cloud link; null if links are not accepted. */
  openApplianceLink?: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null;
}

/** WebSocket endpoints. */
const LIVE = "/api/live";
const LIVE_PAGE = "/api/live-page";
/** @source docs/decisions/0040-replication.md */
const LINK = "/api/onprem/v1/link";

/** Authenticates and authorizes WebSocket upgrades like API requests and refuses them in the API error format. */
export function createWebSocketUpgrade({
  access,
  settings,
  openLiveFeed,
  openLivePage,
  openApplianceLink,
}: WebSocketUpgradeDeps): WebSocketUpgradeListener {
  const isOwnHost = createHostCheck({ listen: settings.listen, hosts: settings.api.hosts });
  const readForwardedClient = createForwardedClientReader(settings.api.trustedProxies);
  return (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    try {
      readForwardedClient(request);
      assertOwnHost(request, isOwnHost);
      const { path, search } = splitTarget(request.url ?? "/");
      if (path === LINK && openApplianceLink) return openApplianceLink(request, socket, head);
      if (path !== LIVE && path !== LIVE_PAGE) throw notFound();
      const query = parseQuery(search);
      const principal = authenticateUpgrade(request, query, access);
      const domainId = textParameter(query, "domain") || null;
      // Throws if the caller may not act in the domain.
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

/** CSRF protection: browsers send cookies with WebSocket requests to any site, so the Origin must be ours. */
function authenticateUpgrade(request: IncomingMessage, query: Query, access: AccessControl): Principal {
  const { authorization, cookie, origin, host } = request.headers;
  const token = accessTokenOf(authorization ?? null, query);
  const { secure } = clientOf(request);
  const session = token === null ? readSessionCookie(cookie ?? null, secure) : null;
  const principal =
    token !== null
      ? access.authenticate(token, "bearer", true, clientAddress(request))
      : session && access.authenticate(session, "cookie", false);
  if (!principal) throw unauthorized();
  if (session !== null && !isSameOrigin(origin ?? null, host ?? null, secure)) {
    throw new CallerError("forbidden", sentence("auth.cross-origin-requests-are-not-allowed-here"));
  }
  return principal;
}

function sinceOf(query: Query): number | null {
  const text = textParameter(query, "since");
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw invalidValue("since", sentence("field.must-be-the-seq-of-an-earlier-message"));
  return Number(text);
}

/** Refuses an upgrade in the API error format and closes the connection. */
export function rejectUpgrade(socket: Duplex, error: unknown): void {
  const { status, headers, body } = errorResponseOf(error, newId());
  const text = JSON.stringify(body);
  const all = {
    "Content-Type": "application/json; charset=utf-8",
    ...DATA_SECURITY_HEADERS,
    Connection: "close",
    ...headers,
  };
  const head = Object.entries({ ...all, "Content-Length": Buffer.byteLength(text) });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${text}`);
}
