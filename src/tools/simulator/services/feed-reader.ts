import { UpstreamError } from "../../../lib/errors.ts";
import { type ReceivedMessage, requireUrl, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";

const POLL_MS = 200;

/**
 * Polls the alert feed configured by `POST /services/feed` five times a second and downloads the alerts that it links to.
 * Failed downloads are retried at the next poll.
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
      // Retried at the next poll.
      timers.push(setInterval(() => void poll(url).catch(() => undefined), POLL_MS));
    },
    async stop() {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
    },
  };
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new UpstreamError("upstream", `${url} returned ${response.status}`);
  return response.text();
}

/** Links of the entries of an Atom feed. @source RFC 4287 §4.2.7 */
function entryLinks(feed: string, base: string): string[] {
  const entries = feed.split("<entry>").slice(1);
  return entries.flatMap((entry) => {
    const href = /<link\b[^>]*\bhref="([^"]+)"/.exec(entry)?.[1];
    return href === undefined ? [] : [new URL(href.replaceAll("&amp;", "&"), base).href];
  });
}
