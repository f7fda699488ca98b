import type { Clock, PluginContext } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import { versionHash } from "./alert-filter.ts";
import { alertKey, supersededAlertKeys } from "./alert-references.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type FeedEntry, parseFeed } from "./feed-parser.ts";

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
/** Remembered documents; more than a feed contains. */
const MAX_SEEN = 2_000;
const RESPONSE_TIMEOUT_MS = 20_000;
/** Upper limit of `Retry-After`. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The server asked to retry later. */
export class ServerBusyError extends RangeError {
  readonly waitMs: number;

  constructor(message: string, seconds: number) {
    super(message);
    this.waitMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : 0;
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
  /** Replaced alerts, so that an older document is not taken for news. */
  const replaced = createSeenHashes(`replaced:${feed.name}`, state);
  const failures = new Map<string, DocumentFailure>();
  /** Validators for conditional requests. @source RFC 9110 §13.1 */
  let known: Record<string, string> = {};

  const get = async (url: string, headers: Record<string, string> = {}) => {
    const isHome = new URL(url).origin === new URL(feed.url).origin;
    const authorization = token !== null && isHome ? { authorization: `Bearer ${token}` } : {};
    const accept = "application/cap+xml, application/atom+xml, application/rss+xml, application/xml;q=0.9";
    const response = await fetch(url, {
      headers: { accept, ...authorization, ...headers },
      timeoutMs: RESPONSE_TIMEOUT_MS,
    });
    const { status } = response;
    if (status === 200 || status === 304) return response;
    const message = `${new URL(url).host} responded with HTTP ${status}`;
    if (status !== 429 && status !== 503) throw new RangeError(message);
    throw new ServerBusyError(message, Number(response.headers["retry-after"]));
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

  /** Entries to read, those with the fewest attempts first. */
  const newEntries = async (entries: readonly FeedEntry[]): Promise<NewEntry[]> => {
    const before = await seen.all();
    const hashed = entries.map((entry) => ({ ...entry, hash: versionHash(entry.version) }));
    const hashes = new Set(hashed.map(({ hash }) => hash));
    for (const hash of failures.keys()) if (!hashes.has(hash)) failures.delete(hash);
    const triesOf = ({ hash }: NewEntry): number => failures.get(hash)?.tries ?? 0;
    return hashed
      .filter(({ hash }) => !before.has(hash) && !failures.get(hash)?.abandoned)
      .sort((a, b) => triesOf(a) - triesOf(b));
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
      const response = await get(feed.url, known);
      if (response.status === 304) return [];
      const content = parseFeed(response.body, feed.url);
      const isInline = "alerts" in content;
      const entries = isInline ? content.alerts.map((version) => ({ url: feed.url, version })) : content.entries;
      const fresh = await newEntries(entries);
      const now = clock.monotonicMs();
      const due = fresh.filter(({ hash }) => (failures.get(hash)?.notBefore ?? 0) <= now).slice(0, MAX_DOCUMENTS);
      const errors: string[] = [];
      const alerts = await readAll(
        due,
        async ({ url, version }) => (isInline ? version : (await get(url)).body),
        errors,
      );
      await replaced.add(alerts.flatMap(({ alert }) => supersededAlertKeys(alert)).map(versionHash));
      const old = await replaced.all();
      let taken = 0;
      for (const { entry, alert } of alerts.sort((a, b) => Date.parse(a.alert.sent) - Date.parse(b.alert.sent))) {
        try {
          if (old.has(versionHash(alertKey(alert))))
            log.info(
              { event: "cap.alert_superseded", feed: feed.name, identifier: alert.identifier },
              "alert superseded before it was read",
            );
          else await onAlert(alert);
          await seen.add([entry.hash]);
          taken++;
        } catch (error) {
          errors.push(recordFailure(entry, error));
        }
      }
      // If entries are left, the next poll must not be answered with 304.
      const { etag, "last-modified": date } = response.headers;
      const version = { ...(etag ? { "if-none-match": etag } : {}), ...(date ? { "if-modified-since": date } : {}) };
      known = taken === fresh.length ? version : {};
      return errors;
    },
  };
}

/** Persistent set of the latest hashes. */
function createSeenHashes(key: string, state: PluginContext["state"]) {
  let hashes: string[] | null = null;
  const read = async (): Promise<string[]> => {
    hashes ??= ((await state.get(key)) ?? []) as string[];
    return hashes;
  };
  return {
    all: async (): Promise<Set<string>> => new Set(await read()),
    async add(more: readonly string[]): Promise<void> {
      const before = new Set(await read());
      const unknown = more.filter((hash) => !before.has(hash));
      if (unknown.length === 0) return;
      hashes = [...before, ...unknown].slice(-MAX_SEEN);
      await state.set(key, hashes);
    },
  };
}
