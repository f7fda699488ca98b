import { createHash, timingSafeEqual } from "node:crypto";
import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { PublishedAlert } from "./alert.ts";
import { atomFeed, rssFeed } from "./alert-feeds.ts";

export interface FeedRequestDeps {
  /** Required token; null for public access. */
  token: string | null;
  /** Base URL of the plugin's routes. */
  baseUrl: string;
  author: string;
  /** Name of a group; null if it does not exist or has another type. */
  titleOf(groupId: string): Promise<string | null>;
  alertsOf(groupId: string): Promise<readonly PublishedAlert[]>;
  documentOf(alert: PublishedAlert): string;
}

const NOT_FOUND: PluginResponse = { status: 404 };

/** Handles `/<group>/atom`, `/<group>/rss` and `/<group>/<alert>.xml`, with ETags. */
export async function handleFeedRequest(request: PluginRequest, deps: FeedRequestDeps): Promise<PluginResponse> {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const token = /^Bearer +(.+)$/i.exec(String(request.headers.authorization ?? ""))?.[1] ?? searchParams.get("token");
  if (deps.token !== null && !isEqualSecret(token ?? "", deps.token))
    return { status: 401, headers: { "www-authenticate": "Bearer" } };
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, headers: { allow: "GET, HEAD" } };
  const [, groupId = "", file = "", ...more] = pathname.split("/");
  const title = more.length > 0 ? null : await deps.titleOf(groupId);
  if (title === null) return NOT_FOUND;
  const alerts = await deps.alertsOf(groupId);
  // Links repeat the token if the request has it in its URL.
  const query =
    searchParams.has("token") && deps.token !== null ? `?${new URLSearchParams({ token: deps.token })}` : "";
  const at = (name: string): string => `${deps.baseUrl}/${groupId}/${encodeURIComponent(name)}${query}`;
  const feed = {
    title,
    author: deps.author,
    alerts,
    url: at(file),
    urlOf: ({ name }: PublishedAlert) => at(`${name}.xml`),
  };
  if (file === "atom") return conditionalResponse(request, "application/atom+xml", atomFeed(feed));
  if (file === "rss") return conditionalResponse(request, "application/rss+xml", rssFeed(feed));
  const alert = alerts.find(({ name }) => `${name}.xml` === decodeURIComponent(file));
  return alert ? conditionalResponse(request, "application/cap+xml", deps.documentOf(alert)) : NOT_FOUND;
}

/** @source RFC 9110 §13.1.2 */
function conditionalResponse({ method, headers }: PluginRequest, type: string, body: string): PluginResponse {
  const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
  const shared = { etag, "cache-control": "no-cache" };
  const known = String(headers["if-none-match"] ?? "").split(/\s*,\s*/);
  if (known.some((each) => each.replace(/^W\//, "") === etag)) return { status: 304, headers: shared };
  const described = { ...shared, "content-type": `${type}; charset=utf-8` };
  return { status: 200, headers: described, ...(method === "HEAD" ? {} : { body }) };
}

function isEqualSecret(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
