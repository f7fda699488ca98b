import type { Alert } from "./alert.ts";
import { element, escaped } from "./xml.ts";

/** A feed as its readers see it. */
export interface Feed {
  title: string;
  author: string;
  /** Where it is read. */
  url: string;
  /** Newest first. */
  alerts: readonly Alert[];
  /** Where an alert's document is read. */
  urlOf(alert: Alert): string;
}

const TYPE = "application/cap+xml";

/** The alerts as an Atom feed. @source RFC 4287 */
export function atomOf({ title, author, url, alerts, urlOf }: Feed): string {
  const entries = alerts.map((alert) =>
    [
      "<entry>",
      element("id", `urn:cap:${alert.sender},${alert.identifier}`),
      element("title", titleOf(alert)),
      element("updated", isoTime(alert.sentAt)),
      element("published", isoTime(alert.sentAt)),
      element("summary", alert.description || alert.headline),
      `<category term="${escaped(alert.category)}"/>`,
      `<link rel="alternate" type="${TYPE}" href="${escaped(urlOf(alert))}"/>`,
      "</entry>",
    ].join(""),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">',
    element("id", url.split("?")[0] ?? url),
    element("title", title),
    element("updated", isoTime(alerts[0]?.sentAt ?? 0)),
    `<author>${element("name", author)}</author>`,
    `<link rel="self" type="application/atom+xml" href="${escaped(url)}"/>`,
    ...entries,
    "</feed>\n",
  ].join("");
}

/** The same as RSS. @source RSS 2.0, RSS Advisory Board */
export function rssOf({ title, author, url, alerts, urlOf }: Feed): string {
  const items = alerts.map((alert) =>
    [
      "<item>",
      element("title", titleOf(alert)),
      element("link", urlOf(alert)),
      element("description", alert.description || alert.headline),
      element("category", alert.category),
      `<guid isPermaLink="false">${escaped(`${alert.sender},${alert.identifier}`)}</guid>`,
      element("pubDate", new Date(alert.sentAt).toUTCString()),
      "</item>",
    ].join(""),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>',
    element("title", title),
    element("link", url),
    element("description", `${title}, ${author}`),
    element("lastBuildDate", new Date(alerts[0]?.sentAt ?? 0).toUTCString()),
    ...items,
    "</channel></rss>\n",
  ].join("");
}

/** Nobody may take a drill, or what holds no more, for an alert. */
function titleOf({ status, msgType, headline }: Alert): string {
  return [status === "Exercise" ? "[Exercise]" : "", msgType === "Cancel" ? "[Cancelled]" : "", headline]
    .filter((part) => part !== "")
    .join(" ");
}

function isoTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
