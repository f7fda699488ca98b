import { type Clock, type PluginContext, parseRetryAfterMs } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import { versionHash } from "./alert-filter.ts";
import { createAlertIntake } from "./alert-intake.ts";
import { decodeDocument } from "./encoding.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type FeedEntry, parseFeed } from "./feed-parser.ts";
import { createSeenHashes } from "./seen-hashes.ts";
import { sentence } from "./sentences.ts";

export interface FeedReaderDeps {
  feed: FeedConfig;
  /** Bearer token; null for none. */
  token: string | null;
  clock: Clock;
  log: PluginContext["log"];
  fetch: PluginContext["fetch"];
  state: PluginContext["state"];
  /** Parses a document. Throws RangeError for an invalid or untrusted alert. */
  parseAlert(text: string): ReceivedAlert;
  /** Handles an alert; resolves when its effects are stored. */
  onAlert(alert: ReceivedAlert): Promise<void>;
}

export interface FeedReader {
  /** Reads new documents; resolves with errors of single documents. Rejects if the feed itself cannot be read. */
  poll(): Promise<string[]>;
}

/** Documents read per poll; the rest follows with the next poll. */
const MAX_DOCUMENTS = 50;
/** A poll requests no more documents after this time. */
const MAX_POLL_MS = 60_000;
/** Busy responses per poll before the rest is left for the next poll. */
const MAX_BUSY_RESPONSES = 3;
/** Polls in which an unreadable document is retried, always after all others. */
const MAX_ATTEMPTS = 10;
/** Indexes of whole countries and lists of alerts are larger than other responses. */
const MAX_DOCUMENT_BYTES = 16 * 1_048_576;
/** What `{since}` of a URL goes back, before the last poll that succeeded and at the first one. */
const SINCE_OVERLAP_MS = 600_000;
const FIRST_SINCE_MS = 86_400_000;
const RESPONSE_TIMEOUT_MS = 20_000;
/** Upper limit of `Retry-After`. */
const MAX_RETRY_AFTER_MS = 3_600_000;

const FEED_TYPES =
  "application/atom+xml, application/rss+xml, application/cap+xml, application/geo+json;q=0.9, application/ld+json;q=0.9, application/xml;q=0.9, application/json;q=0.8, */*;q=0.5";
const DOCUMENT_TYPES = "application/cap+xml, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8";
/** Some authorities refuse calls without it. */
const USER_AGENT = "Carillon (cap-in)";

/** The server asked to retry later. */
export class ServerBusyError extends RangeError {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = Math.min(waitMs, MAX_RETRY_AFTER_MS);
  }
}

interface NewEntry extends FeedEntry {
  hash: string;
}

/** A document that could not be read or stored. */
interface DocumentFailure {
  tries: number;
  /** Earliest retry, monotonic ms. */
  notBefore: number;
  abandoned: boolean;
}

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
  const intake = createAlertIntake({ feedName: feed.name, state, log, onAlert });
  const failures = new Map<string, DocumentFailure>();
  /** Validators for conditional requests. @source RFC 9110 §13.1 */
  let known: Record<string, string> = {};
  /** Position in `feed.urls` of the URL that answered last. */
  let current = 0;
  let lastReadAt: number | null = null;

  const isFeedUrl = (url: string): boolean => feed.urls.some((each) => new URL(each).origin === new URL(url).origin);
  const get = async (url: string, accept: string, headers: Record<string, string> = {}) => {
    const authorization = token !== null && isFeedUrl(url) ? { authorization: `Bearer ${token}` } : {};
    const response = await fetch(url, {
      headers: { accept, "user-agent": USER_AGENT, ...authorization, ...headers },
      ...{ timeoutMs: RESPONSE_TIMEOUT_MS, maxBytes: MAX_DOCUMENT_BYTES, binary: true },
    });
    const { status, bytes = new Uint8Array() } = response;
    if (status === 200) return { ...response, text: decodeDocument(bytes, response.headers["content-type"]) };
    if (status === 304) return { ...response, text: "" };
    const message = sentence("http-status", { host: new URL(url).host, status });
    if (status !== 429 && status !== 503) throw new RangeError(message);
    throw new ServerBusyError(message, parseRetryAfterMs(response.headers["retry-after"], clock.now()) ?? 0);
  };

  /** Reads the feed at the URL that answered last, else at the next ones. Rejects with the error of the first that failed. */
  const getFeed = async () => {
    const since = clock.now() - (lastReadAt === null ? FIRST_SINCE_MS : clock.now() - lastReadAt + SINCE_OVERLAP_MS);
    const time = new Date(since).toISOString().replace(/\.\d+/, "");
    let failure: unknown = null;
    for (let tried = 0; tried < feed.urls.length; tried++) {
      const at = (current + tried) % feed.urls.length;
      const template = feed.urls[at] as string;
      const url = template.replaceAll("{since}", time);
      try {
        const isSame = at === current && url === template;
        const response = await get(url, FEED_TYPES, isSame ? known : {});
        const content = response.status === 304 ? null : parseFeed(response.text, url);
        current = at;
        return { url, response, content };
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  };

  /** Records the failure of a document and returns its message. */
  const recordFailure = ({ url, hash }: NewEntry, error: unknown): string => {
    const message = `${new URL(url).pathname}: ${error instanceof Error ? error.message : String(error)}`;
    const tries = (failures.get(hash)?.tries ?? 0) + 1;
    const notBefore = clock.monotonicMs() + (error instanceof ServerBusyError ? error.waitMs : 0);
    const abandoned = tries >= MAX_ATTEMPTS && error instanceof RangeError && !(error instanceof ServerBusyError);
    if (abandoned)
      log.warn(
        { event: "cap.document_abandoned", feed: feed.name, reason: message },
        "failed to read document; giving up",
      );
    failures.set(hash, { tries, notBefore, abandoned });
    return message;
  };

  /** Entries to read: those with the fewest attempts first, of these the newest. */
  const newEntries = async (entries: readonly FeedEntry[]): Promise<NewEntry[]> => {
    const before = await seen.all();
    const hashed = entries.map((entry) => ({ ...entry, hash: versionHash(entry.version) }));
    const hashes = new Set(hashed.map(({ hash }) => hash));
    for (const hash of failures.keys()) if (!hashes.has(hash)) failures.delete(hash);
    const triesOf = ({ hash }: NewEntry): number => failures.get(hash)?.tries ?? 0;
    return hashed
      .filter(({ hash }) => !before.has(hash) && !failures.get(hash)?.abandoned)
      .sort((a, b) => triesOf(a) - triesOf(b) || b.updatedAt - a.updatedAt);
  };

  /** Reads the alerts of documents within the time limit of a poll. */
  const readAll = async (
    fresh: readonly NewEntry[],
    textOf: (entry: NewEntry) => Promise<string>,
    errors: string[],
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
        errors.push(recordFailure(entry, error));
      }
    }
    return alerts;
  };

  return {
    async poll() {
      const { url, response, content } = await getFeed();
      lastReadAt = clock.now();
      if (content === null) return [];
      const isInline = "alerts" in content;
      const entries = isInline
        ? content.alerts.map((version) => ({ url, version, updatedAt: 0 }))
        : content.entries.filter(({ expiresAt = null }) => expiresAt === null || expiresAt > clock.now());
      const fresh = await newEntries(entries);
      const now = clock.monotonicMs();
      const due = fresh.filter(({ hash }) => (failures.get(hash)?.notBefore ?? 0) <= now).slice(0, MAX_DOCUMENTS);
      const errors: string[] = [];
      const textOf = async (entry: NewEntry): Promise<string> =>
        isInline ? entry.version : (await get(entry.url, DOCUMENT_TYPES)).text;
      const alerts = await readAll(due, textOf, errors);
      let taken = 0;
      await intake.take(alerts, async ({ entry }, error) => {
        if (error !== null) errors.push(recordFailure(entry, error));
        else {
          await seen.add([entry.hash]);
          taken++;
        }
      });
      // If entries are left, the next poll must not be answered with 304.
      const { etag, "last-modified": date } = response.headers;
      const version = { ...(etag ? { "if-none-match": etag } : {}), ...(date ? { "if-modified-since": date } : {}) };
      known = taken === fresh.length ? version : {};
      return errors;
    },
  };
}
