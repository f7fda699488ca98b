import type { Clock, PluginContext } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import { versionHash } from "./alert-filter.ts";
import { alertKey, supersededAlertKeys } from "./alert-references.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type FeedEntry, parseFeed } from "./feed-parser.ts";

/** What reading a feed needs. */
export interface FeedReaderDeps {
  feed: FeedConfig;
  /** Shown as bearer; null for none. */
  token: string | null;
  clock: Clock;
  log: PluginContext["log"];
  fetch: PluginContext["fetch"];
  state: PluginContext["state"];
  /** The alert of a document. Throws RangeError for what is none to be trusted. */
  parseAlert(text: string): ReceivedAlert;
  /** Takes an alert; resolves when what follows from it is stored. */
  onAlert(alert: ReceivedAlert): Promise<void>;
}

/** Reads a feed, again and again. */
export interface FeedReader {
  /** Takes what is new; resolves with what of it can't be taken now, in words. Rejects when the feed itself can't be read. */
  poll(): Promise<string[]>;
}

/** Documents read for one look at a feed; the others come with the next. own choice */
const MAX_DOCUMENTS = 50;
/** Nothing more is asked for in a look that has taken so long. own choice */
const MAX_POLL_MS = 60_000;
/** Documents of which the server says that it is busy before the rest of a look is left for the next. own choice */
const MAX_BUSY_RESPONSES = 3;
/** A document that can't be read is tried in so many looks, always after all others. own choice */
const MAX_ATTEMPTS = 10;
/** More than a feed has at once. own choice */
const MAX_SEEN = 2_000;
const RESPONSE_TIMEOUT_MS = 20_000;
/** The longest wait that a server may ask for. own choice */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Thrown where a server asks to wait. */
export class ServerBusyError extends RangeError {
  readonly waitMs: number;

  constructor(words: string, seconds: number) {
    super(words);
    this.waitMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : 0;
  }
}

interface NewEntry extends FeedEntry {
  mark: string;
}

/** A document that could not be read, or not stored. */
interface DocumentFailure {
  tries: number;
  /** Monotonic ms before which it is not asked for. */
  notBefore: number;
  abandoned: boolean;
}

/** Makes the reader of a feed. */
export function createFeedReader({
  feed,
  token,
  clock,
  log,
  fetch,
  state,
  parseAlert,
  onAlert,
}: FeedReaderDeps): FeedReader {
  const seen = createSeenHashes(`seen:${feed.name}`, state);
  /** Alerts that others have replaced, lest an older document of theirs be taken for news. */
  const replaced = createSeenHashes(`replaced:${feed.name}`, state);
  const failures = new Map<string, DocumentFailure>();
  /** What tells the server which version is known. @source RFC 9110 §13.1 */
  let known: Record<string, string> = {};

  const get = async (url: string, headers: Record<string, string> = {}) => {
    const isHome = new URL(url).origin === new URL(feed.url).origin;
    const shown = token !== null && isHome ? { authorization: `Bearer ${token}` } : {};
    const accept = "application/cap+xml, application/atom+xml, application/rss+xml, application/xml;q=0.9";
    const answer = await fetch(url, { headers: { accept, ...shown, ...headers }, timeoutMs: RESPONSE_TIMEOUT_MS });
    const { status } = answer;
    if (status === 200 || status === 304) return answer;
    const words = `${new URL(url).host} answered ${status}`;
    if (status !== 429 && status !== 503) throw new RangeError(words);
    throw new ServerBusyError(words, Number(answer.headers["retry-after"]));
  };

  /** Remembers why a document was not taken, and says it. */
  const recordFailure = ({ url, mark }: NewEntry, error: unknown): string => {
    const words = `${new URL(url).pathname}: ${error instanceof Error ? error.message : String(error)}`;
    const tries = (failures.get(mark)?.tries ?? 0) + 1;
    const notBefore = clock.monotonicMs() + (error instanceof ServerBusyError ? error.waitMs : 0);
    const abandoned = tries >= MAX_ATTEMPTS && error instanceof RangeError && !(error instanceof ServerBusyError);
    if (abandoned) log.warn({ feed: feed.name, reason: words }, "a document is given up");
    failures.set(mark, { tries, notBefore, abandoned });
    return words;
  };

  /** What is to be read, what was tried least first. */
  const newEntries = async (entries: readonly FeedEntry[]): Promise<NewEntry[]> => {
    const before = await seen.all();
    const marked = entries.map((entry) => ({ ...entry, mark: versionHash(entry.version) }));
    const marks = new Set(marked.map(({ mark }) => mark));
    for (const mark of failures.keys()) if (!marks.has(mark)) failures.delete(mark);
    const triesOf = ({ mark }: NewEntry): number => failures.get(mark)?.tries ?? 0;
    return marked
      .filter(({ mark }) => !before.has(mark) && !failures.get(mark)?.abandoned)
      .sort((a, b) => triesOf(a) - triesOf(b));
  };

  /** The alerts of documents, as far as they can be read within the time of a look. */
  const readAll = async (
    fresh: readonly NewEntry[],
    textOf: (entry: NewEntry) => Promise<string>,
    faults: string[],
  ) => {
    const begun = clock.monotonicMs();
    const alerts: { entry: NewEntry; alert: ReceivedAlert }[] = [];
    let busy = 0;
    for (const entry of fresh) {
      if (busy >= MAX_BUSY_RESPONSES || clock.monotonicMs() - begun >= MAX_POLL_MS) break;
      try {
        alerts.push({ entry, alert: parseAlert(await textOf(entry)) });
      } catch (error) {
        busy += Number(error instanceof ServerBusyError);
        faults.push(recordFailure(entry, error));
      }
    }
    return alerts;
  };

  return {
    async poll() {
      const answer = await get(feed.url, known);
      if (answer.status === 304) return [];
      const content = parseFeed(answer.body, feed.url);
      const own = "alert" in content ? content.alert : null;
      const fresh = await newEntries(
        own === null ? (content as { entries: FeedEntry[] }).entries : [{ url: feed.url, version: own }],
      );
      const now = clock.monotonicMs();
      const asked = fresh.filter(({ mark }) => (failures.get(mark)?.notBefore ?? 0) <= now).slice(0, MAX_DOCUMENTS);
      const faults: string[] = [];
      const alerts = await readAll(asked, async ({ url }) => own ?? (await get(url)).body, faults);
      await replaced.add(alerts.flatMap(({ alert }) => supersededAlertKeys(alert)).map(versionHash));
      const old = await replaced.all();
      let taken = 0;
      for (const { entry, alert } of alerts.sort((a, b) => Date.parse(a.alert.sent) - Date.parse(b.alert.sent))) {
        try {
          if (old.has(versionHash(alertKey(alert))))
            log.info({ feed: feed.name, identifier: alert.identifier }, "an alert was replaced before it was read");
          else await onAlert(alert);
          await seen.add([entry.mark]);
          taken++;
        } catch (error) {
          faults.push(recordFailure(entry, error));
        }
      }
      // What is left comes with the next look, which must not be told that nothing has changed.
      const { etag, "last-modified": date } = answer.headers;
      const version = { ...(etag ? { "if-none-match": etag } : {}), ...(date ? { "if-modified-since": date } : {}) };
      known = taken === fresh.length ? version : {};
      return faults;
    },
  };
}

/** Marks that are kept over restarts, the latest ones. */
function createSeenHashes(key: string, state: PluginContext["state"]) {
  let marks: string[] | null = null;
  const read = async (): Promise<string[]> => {
    marks ??= ((await state.get(key)) ?? []) as string[];
    return marks;
  };
  return {
    all: async (): Promise<Set<string>> => new Set(await read()),
    async add(more: readonly string[]): Promise<void> {
      const before = new Set(await read());
      const unknown = more.filter((mark) => !before.has(mark));
      if (unknown.length === 0) return;
      marks = [...before, ...unknown].slice(-MAX_SEEN);
      await state.set(key, marks);
    },
  };
}
