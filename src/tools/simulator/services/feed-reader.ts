import { UpstreamError } from "../../../lib/errors.ts";
import { type ReceivedMessage, requireUrl, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";

const POLL_MS = 200;

/**
 * Somebody who follows the alert feeds that `POST /services/feed` names, `{url}`: five times a second, and reads their
 * alerts where they link to them.
 */
export function openFeedReader({ at }: SimulatedServiceDeps): SimulatedService {
  const receptions: ReceivedMessage[] = [];
  const read = new Set<string>();
  const timers: NodeJS.Timeout[] = [];
  const stopping = new AbortController();

  async function poll(url: string): Promise<void> {
    const feed = await fetchText(url, stopping.signal);
    for (const link of entryLinks(feed, url)) {
      if (read.has(link)) continue;
      read.add(link);
      receptions.push({
        service: "feed",
        to: url,
        words: await fetchText(link, stopping.signal),
        packets: 0,
        at: at(),
      });
    }
  }
  return {
    connectionSettings: {},
    receptions: () => receptions,
    configure(values) {
      const url = requireUrl(values);
      // What can't be read now is read the next time.
      timers.push(setInterval(() => void poll(url).catch(() => undefined), POLL_MS));
    },
    async stop() {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
    },
  };
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new UpstreamError("upstream", `${url} answered ${answer.status}`);
  return answer.text();
}

/** Where the entries of an Atom feed lead. @source RFC 4287 §4.2.7 */
function entryLinks(feed: string, base: string): string[] {
  const entries = feed.split("<entry>").slice(1);
  return entries.flatMap((entry) => {
    const href = /<link\b[^>]*\bhref="([^"]+)"/.exec(entry)?.[1];
    return href === undefined ? [] : [new URL(href.replaceAll("&amp;", "&"), base).href];
  });
}
