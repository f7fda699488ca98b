import { UpstreamError } from "../../base/errors.ts";
import { type Reception, type Service, type ServiceNeeds, urlIn } from "./service.ts";

const EVERY_MS = 200;

/**
 * Somebody who follows the alert feeds that `POST /services/feed` names, `{url}`: five times a second, and reads their
 * alerts where they link to them.
 */
export function openFeedReader({ at }: ServiceNeeds): Service {
  const receptions: Reception[] = [];
  const read = new Set<string>();
  const timers: NodeJS.Timeout[] = [];
  const stopping = new AbortController();

  async function look(url: string): Promise<void> {
    const feed = await get(url, stopping.signal);
    for (const link of linksOf(feed, url)) {
      if (read.has(link)) continue;
      read.add(link);
      receptions.push({ service: "feed", to: url, words: await get(link, stopping.signal), packets: 0, at: at() });
    }
  }
  return {
    facts: {},
    receptions: () => receptions,
    tell(values) {
      const url = urlIn(values);
      // What can't be read now is read the next time.
      timers.push(setInterval(() => void look(url).catch(() => undefined), EVERY_MS));
    },
    async stop() {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
    },
  };
}

async function get(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new UpstreamError("upstream", `${url} answered ${answer.status}`);
  return answer.text();
}

/** Where the entries of an Atom feed lead. @source RFC 4287 §4.2.7 */
function linksOf(feed: string, base: string): string[] {
  const entries = feed.split("<entry>").slice(1);
  return entries.flatMap((entry) => {
    const href = /<link\b[^>]*\bhref="([^"]+)"/.exec(entry)?.[1];
    return href === undefined ? [] : [new URL(href.replaceAll("&amp;", "&"), base).href];
  });
}
