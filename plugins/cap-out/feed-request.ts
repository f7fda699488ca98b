import { createHash, timingSafeEqual } from "node:crypto";
import type { PluginRequest, PluginResponse } from "#plugin-api";
import type { PublishedAlert } from "./alert.ts";
import { atomFeed, rssFeed } from "./alert-feeds.ts";

/** What answering readers needs. */
export interface FeedRequestDeps {
  /** What readers show; null lets everybody read. */
  token: string | null;
  /** Where the plugin's routes begin. */
  baseUrl: string;
  author: string;
  /** A group's name; null where there is none of this type. */
  titleOf(groupId: string): Promise<string | null>;
  alertsOf(groupId: string): Promise<readonly PublishedAlert[]>;
  documentOf(alert: PublishedAlert): string;
}

const NOT_FOUND: PluginResponse = { status: 404 };

/** Answers `/<group>/atom`, `/<group>/rss` and `/<group>/<alert>.xml`, with an ETag by which readers ask for what is new. */
export async function handleFeedRequest(request: PluginRequest, needs: FeedRequestDeps): Promise<PluginResponse> {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const shown = /^Bearer +(.+)$/i.exec(String(request.headers.authorization ?? ""))?.[1] ?? searchParams.get("token");
  if (needs.token !== null && !isEqualSecret(shown ?? "", needs.token))
    return { status: 401, headers: { "www-authenticate": "Bearer" } };
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, headers: { allow: "GET, HEAD" } };
  const [, groupId = "", file = "", ...more] = pathname.split("/");
  const title = more.length > 0 ? null : await needs.titleOf(groupId);
  if (title === null) return NOT_FOUND;
  const alerts = await needs.alertsOf(groupId);
  // Whoever shows the token in the address goes on doing so.
  const query =
    searchParams.has("token") && needs.token !== null ? `?${new URLSearchParams({ token: needs.token })}` : "";
  const at = (name: string): string => `${needs.baseUrl}/${groupId}/${encodeURIComponent(name)}${query}`;
  const feed = {
    title,
    author: needs.author,
    alerts,
    url: at(file),
    urlOf: ({ name }: PublishedAlert) => at(`${name}.xml`),
  };
  if (file === "atom") return conditionalResponse(request, "application/atom+xml", atomFeed(feed));
  if (file === "rss") return conditionalResponse(request, "application/rss+xml", rssFeed(feed));
  const alert = alerts.find(({ name }) => `${name}.xml` === decodeURIComponent(file));
  return alert ? conditionalResponse(request, "application/cap+xml", needs.documentOf(alert)) : NOT_FOUND;
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
