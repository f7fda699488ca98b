import { type Element, XMLSerializer } from "@xmldom/xmldom";
import { childElements, childText, parseXml } from "./xml.ts";

/** A feed entry: absolute URL of its document and a version that changes with it. */
export interface FeedEntry {
  url: string;
  version: string;
}

/** Content at a feed URL: entries in feed order, or the alerts themselves. */
export type FeedContent = { entries: FeedEntry[] } | { alerts: string[] };

const CAP = "application/cap+xml";

/**
 * Parses Atom (RFC 4287), RSS 2.0, a single alert, or a list of alerts as the national feed of the United States has it.
 * Throws RangeError for anything else.
 */
export function parseFeed(text: string, url: string): FeedContent {
  const root = parseXml(text);
  if (root.localName === "alert") return { alerts: [text] };
  if (root.localName === "alerts") {
    const serializer = new XMLSerializer();
    return { alerts: childElements(root, "alert").map((alert) => serializer.serializeToString(alert)) };
  }
  if (root.localName === "feed") return { entries: resolveUrls(childElements(root, "entry").map(atomEntry), url) };
  const channel = root.localName === "rss" ? childElements(root, "channel")[0] : undefined;
  if (!channel) throw new RangeError("neither an Atom feed, an RSS feed nor CAP alerts");
  return { entries: resolveUrls(childElements(channel, "item").map(rssItem), url) };
}

function atomEntry(entry: Element): FeedEntry {
  const links = childElements(entry, "link").filter((link) =>
    [null, "", "alternate"].includes(link.getAttribute("rel")),
  );
  const link = links.find((each) => each.getAttribute("type") === CAP) ?? links[0];
  return { url: link?.getAttribute("href") ?? "", version: `${childText(entry, "id")} ${childText(entry, "updated")}` };
}

function rssItem(item: Element): FeedEntry {
  const enclosure = childElements(item, "enclosure").find((each) => each.getAttribute("type") === CAP);
  const url = enclosure?.getAttribute("url") ?? childText(item, "link");
  return { url, version: `${childText(item, "guid")} ${childText(item, "pubDate")}` };
}

function resolveUrls(entries: readonly FeedEntry[], base: string): FeedEntry[] {
  return entries
    .filter(({ url }) => url !== "" && URL.canParse(url, base))
    .map(({ url, version }) => ({ url: new URL(url, base).href, version: `${version} ${url}` }));
}
