import type { PublishedAlert } from "./alert.ts";
import { escapeXml, xmlElement } from "./xml.ts";

export interface AlertFeed {
  title: string;
  author: string;
  /** URL of the feed. */
  url: string;
  /** Newest first. */
  alerts: readonly PublishedAlert[];
  /** URL of an alert's document. */
  urlOf(alert: PublishedAlert): string;
}

const TYPE = "application/cap+xml";

/** Renders an Atom feed. @source RFC 4287 */
export function atomFeed({ title, author, url, alerts, urlOf }: AlertFeed): string {
  const entries = alerts.map((alert) =>
    [
      "<entry>",
      xmlElement("id", `urn:cap:${alert.sender},${alert.identifier}`),
      xmlElement("title", titleOf(alert)),
      xmlElement("updated", isoTime(alert.sentAt)),
      xmlElement("published", isoTime(alert.sentAt)),
      xmlElement("summary", alert.description || alert.headline),
      `<category term="${escapeXml(alert.category)}"/>`,
      `<link rel="alternate" type="${TYPE}" href="${escapeXml(urlOf(alert))}"/>`,
      "</entry>",
    ].join(""),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">',
    xmlElement("id", url.split("?")[0] ?? url),
    xmlElement("title", title),
    xmlElement("updated", isoTime(alerts[0]?.sentAt ?? 0)),
    `<author>${xmlElement("name", author)}</author>`,
    `<link rel="self" type="application/atom+xml" href="${escapeXml(url)}"/>`,
    ...entries,
    "</feed>\n",
  ].join("");
}

/** Renders an RSS feed. @source RSS 2.0, RSS Advisory Board */
export function rssFeed({ title, author, url, alerts, urlOf }: AlertFeed): string {
  const items = alerts.map((alert) =>
    [
      "<item>",
      xmlElement("title", titleOf(alert)),
      xmlElement("link", urlOf(alert)),
      xmlElement("description", alert.description || alert.headline),
      xmlElement("category", alert.category),
      `<guid isPermaLink="false">${escapeXml(`${alert.sender},${alert.identifier}`)}</guid>`,
      xmlElement("pubDate", new Date(alert.sentAt).toUTCString()),
      "</item>",
    ].join(""),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>',
    xmlElement("title", title),
    xmlElement("link", url),
    xmlElement("description", `${title}, ${author}`),
    xmlElement("lastBuildDate", new Date(alerts[0]?.sentAt ?? 0).toUTCString()),
    ...items,
    "</channel></rss>\n",
  ].join("");
}

/** Marks drills and cancellations, so that no reader takes them for an alert. */
function titleOf({ status, msgType, headline }: PublishedAlert): string {
  return [status === "Exercise" ? "[Exercise]" : "", msgType === "Cancel" ? "[Cancelled]" : "", headline]
    .filter((part) => part !== "")
    .join(" ");
}

function isoTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
