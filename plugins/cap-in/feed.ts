import type { Element } from "@xmldom/xmldom";
import { childrenOf, readXml, textIn } from "./xml.ts";

/** What a feed points to: a document's address with what says that it changed. `url` is absolute. */
export interface Entry {
  url: string;
  version: string;
}

/** What an address gave: a feed's entries in their order, or an alert itself. */
export type FeedContent = { entries: Entry[] } | { alert: string };

const CAP = "application/cap+xml";

/** Reads Atom (RFC 4287), RSS 2.0, or a single alert. Throws RangeError for anything else. */
export function readFeed(text: string, url: string): FeedContent {
  const root = readXml(text);
  if (root.localName === "alert") return { alert: text };
  if (root.localName === "feed") return { entries: resolved(childrenOf(root, "entry").map(atomEntry), url) };
  const channel = root.localName === "rss" ? childrenOf(root, "channel")[0] : undefined;
  if (!channel) throw new RangeError("it is neither Atom nor RSS nor an alert");
  return { entries: resolved(childrenOf(channel, "item").map(rssItem), url) };
}

function atomEntry(entry: Element): Entry {
  const links = childrenOf(entry, "link").filter((link) => [null, "", "alternate"].includes(link.getAttribute("rel")));
  const link = links.find((each) => each.getAttribute("type") === CAP) ?? links[0];
  return { url: link?.getAttribute("href") ?? "", version: `${textIn(entry, "id")} ${textIn(entry, "updated")}` };
}

function rssItem(item: Element): Entry {
  const enclosure = childrenOf(item, "enclosure").find((each) => each.getAttribute("type") === CAP);
  const url = enclosure?.getAttribute("url") ?? textIn(item, "link");
  return { url, version: `${textIn(item, "guid")} ${textIn(item, "pubDate")}` };
}

function resolved(entries: readonly Entry[], base: string): Entry[] {
  return entries
    .filter(({ url }) => url !== "" && URL.canParse(url, base))
    .map(({ url, version }) => ({ url: new URL(url, base).href, version: `${version} ${url}` }));
}
