import { type Element, XMLSerializer } from "@xmldom/xmldom";
import { isJson, parseJson } from "./alert.ts";
import { childElements, childText, parseXml } from "./xml.ts";

/** A feed entry: absolute URL of its document and a version that changes with it. */
export interface FeedEntry {
  url: string;
  version: string;
  /** Epoch ms; 0 if it is not said. */
  updatedAt: number;
  /** Epoch ms, if the entry says when its alert expires. */
  expiresAt?: number | null;
}

/** Content at a feed URL: entries in feed order, or the alerts themselves. */
export type FeedContent = { entries: FeedEntry[] } | { alerts: string[] };

const CAP = "application/cap+xml";

/**
 * Parses Atom (RFC 4287), RSS 2.0, a single alert, a list of alerts as the national feed of the United States has it, or JSON: a list
 * of alerts, or an index of them as GeoJSON or JSON-LD. Throws RangeError for anything else.
 */
export function parseFeed(text: string, url: string): FeedContent {
  if (isJson(text)) return parseJsonFeed(text, url);
  const root = parseXml(text);
  if (root.localName === "alert") return { alerts: [text] };
  if (root.localName === "alerts") return { alerts: alertsIn(root) };
  if (root.localName === "feed") return parseAtom(root, url);
  const channel = root.localName === "rss" ? childElements(root, "channel")[0] : undefined;
  if (!channel) throw new RangeError("neither an Atom feed, an RSS feed nor CAP alerts");
  return { entries: resolveUrls(childElements(channel, "item").map(rssItem), url) };
}

function alertsIn(element: Element): string[] {
  const serializer = new XMLSerializer();
  return childElements(element, "alert").map((alert) => serializer.serializeToString(alert));
}

/** Some feeds have the alerts inside their entries. */
function parseAtom(feed: Element, url: string): FeedContent {
  const entries = childElements(feed, "entry");
  const inside = entries.map((entry) => childElements(entry, "content").flatMap(alertsIn));
  if (entries.length > 0 && inside.every((alerts) => alerts.length > 0)) return { alerts: inside.flat() };
  return { entries: resolveUrls(entries.map(atomEntry), url) };
}

function atomEntry(entry: Element): FeedEntry {
  const links = childElements(entry, "link");
  const isAlternate = (link: Element): boolean => [null, "", "alternate"].includes(link.getAttribute("rel"));
  const link = links.find((each) => each.getAttribute("type") === CAP) ?? links.find(isAlternate);
  const updated = childText(entry, "updated");
  return {
    url: link?.getAttribute("href") ?? "",
    version: `${childText(entry, "id")} ${updated}`,
    updatedAt: Date.parse(updated) || 0,
    expiresAt: Date.parse(childText(entry, "expires")) || null,
  };
}

function rssItem(item: Element): FeedEntry {
  const enclosure = childElements(item, "enclosure").find((each) => each.getAttribute("type") === CAP);
  const url = enclosure?.getAttribute("url") ?? childText(item, "link");
  const date = childText(item, "pubDate");
  return { url, version: `${childText(item, "guid")} ${date}`, updatedAt: Date.parse(date) || 0 };
}

/** Alerts have the names of CAP; an index names its alerts by their URL. */
function parseJsonFeed(text: string, url: string): FeedContent {
  const root = parseJson(text) as JsonFeed;
  if (Array.isArray(root)) return { alerts: root.map((alert) => JSON.stringify(alert)) };
  if (typeof root.identifier === "string") return { alerts: [text] };
  const index = root.features ?? root["@graph"];
  if (!Array.isArray(index)) throw new RangeError("neither CAP alerts nor an index of them");
  return { entries: resolveUrls(index.map(jsonEntry), url) };
}

interface JsonFeed {
  identifier?: unknown;
  features?: unknown;
  "@graph"?: unknown;
}

function jsonEntry(given: unknown): FeedEntry {
  const entry = (given ?? {}) as Record<string, unknown>;
  const properties = (entry.properties ?? entry) as Record<string, unknown>;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const url = [entry["@id"], entry.id, properties["@id"]].map(text).find((each) => /^https?:/.test(each)) ?? "";
  const sent = text(properties.sent);
  return {
    url,
    version: `${url} ${sent}`,
    updatedAt: Date.parse(sent) || 0,
    expiresAt: Date.parse(text(properties.expires)) || null,
  };
}

function resolveUrls(entries: readonly FeedEntry[], base: string): FeedEntry[] {
  return entries
    .filter(({ url }) => url !== "" && URL.canParse(url, base))
    .map(({ url, version, ...rest }) => ({ url: new URL(url, base).href, version: `${version} ${url}`, ...rest }));
}
