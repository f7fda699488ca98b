import type { Clock, PluginContext, TriggerInput } from "#plugin-api";
import { type Entry, readFeed } from "./feed.ts";
import { markOf } from "./filter.ts";
import type { Followed } from "./followed.ts";

/** What following a feed needs. */
export interface PollerNeeds {
  feed: Followed;
  /** Shown as bearer; null for none. */
  token: string | null;
  clock: Clock;
  signal: AbortSignal;
  fetch: PluginContext["fetch"];
  state: PluginContext["state"];
  trigger(input: TriggerInput): Promise<void>;
  /** Takes an alert's document; resolves when what follows from it is stored. Throws RangeError for one that can't be taken. */
  take(text: string): Promise<void>;
  /** The feed was read, or why not, or what of it can't be taken. */
  onState(fault: string | null): void;
}

/** The longest wait after failures. own choice */
const LONGEST_WAIT_MS = 900_000;
/** The longest wait that a server may ask for. own choice */
const LONGEST_ASKED_MS = 3_600_000;
/** Documents read for one look at a feed; the others come with the next. own choice */
const MOST_DOCUMENTS = 50;
/** More than a feed has at once. own choice */
const MOST_SEEN = 2_000;
const ANSWER_MS = 20_000;

/** Thrown where a server asks to wait. */
class Busy extends RangeError {
  readonly waitMs: number;

  constructor(words: string, waitMs: number) {
    super(words);
    this.waitMs = waitMs;
  }
}

/** Looks at a feed again and again until the signal aborts. */
export function followFeed(needs: PollerNeeds): void {
  const { feed, clock, signal, onState } = needs;
  const reader = createReader(needs);
  const silence = createSilence(needs);
  let failures = 0;
  const look = async (): Promise<void> => {
    let waitMs = feed.everySeconds * 1_000;
    try {
      const faults = await reader.read();
      failures = 0;
      onState(faults.length === 0 ? null : faults.join("; "));
      await silence.heard();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      failures++;
      const asked = error instanceof Busy ? Math.min(error.waitMs, LONGEST_ASKED_MS) : 0;
      waitMs = Math.max(asked, Math.min(waitMs * 2 ** failures, Math.max(waitMs, LONGEST_WAIT_MS)));
      onState(words);
      await silence.missed(words).catch(() => undefined);
    }
    if (!signal.aborted) clock.after(waitMs, () => void look());
  };
  void look();
}

/** Reads what is new in a feed; resolves with what of it can't be taken, in words. */
function createReader({ feed, token, fetch, state, take }: PollerNeeds) {
  const key = `seen:${feed.name}`;
  let seen: string[] | null = null;
  /** What tells the server which version is known. @source RFC 9110 §13.1 */
  let known: Record<string, string> = {};

  const get = async (url: string, headers: Record<string, string> = {}) => {
    const isHome = new URL(url).origin === new URL(feed.url).origin;
    const shown = token !== null && isHome ? { authorization: `Bearer ${token}` } : {};
    const accept = "application/cap+xml, application/atom+xml, application/rss+xml, application/xml;q=0.9";
    const answer = await fetch(url, { headers: { accept, ...shown, ...headers }, timeoutMs: ANSWER_MS });
    const { status } = answer;
    if (status === 200 || status === 304) return answer;
    const words = `${new URL(url).host} answered ${status}`;
    const seconds = Number(answer.headers["retry-after"]);
    if (status !== 429 && status !== 503) throw new RangeError(words);
    throw new Busy(words, Number.isFinite(seconds) ? seconds * 1_000 : 0);
  };

  const keep = async (marks: readonly string[]): Promise<void> => {
    seen = [...(seen ?? []), ...marks].slice(-MOST_SEEN);
    await state.set(key, seen);
  };

  /** Null for one that was taken, or never can be; else what is wrong now. */
  const takeEntry = async ({ url }: Entry): Promise<string | null> => {
    try {
      await take((await get(url)).body);
      return null;
    } catch (error) {
      if (error instanceof Busy) throw error;
      return `${new URL(url).pathname}: ${error instanceof Error ? error.message : String(error)}`;
    }
  };

  return {
    async read(): Promise<string[]> {
      seen ??= ((await state.get(key)) ?? []) as string[];
      const answer = await get(feed.url, known);
      if (answer.status === 304) return [];
      const content = readFeed(answer.body, feed.url);
      const entries = "alert" in content ? [{ url: feed.url, version: content.alert }] : content.entries;
      const before = new Set(seen);
      const fresh = entries.filter(({ version }) => !before.has(markOf(version)));
      const faults: string[] = [];
      for (const entry of fresh.slice(0, MOST_DOCUMENTS)) {
        const fault = "alert" in content ? await taken(take, content.alert) : await takeEntry(entry);
        if (fault === null) await keep([markOf(entry.version)]);
        else faults.push(fault);
      }
      // What is left comes with the next look, which must not be told that nothing has changed.
      const { etag, "last-modified": date } = answer.headers;
      const isDone = faults.length === 0 && fresh.length <= MOST_DOCUMENTS;
      known = isDone
        ? { ...(etag ? { "if-none-match": etag } : {}), ...(date ? { "if-modified-since": date } : {}) }
        : {};
      return faults;
    },
  };
}

async function taken(take: PollerNeeds["take"], text: string): Promise<string | null> {
  try {
    await take(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Tells when nothing was heard of a feed for too long, and when it is back; once each. */
function createSilence({ feed, clock, trigger }: PollerNeeds) {
  let heardAt = clock.monotonicMs();
  let toldAt: number | null = null;
  const tell = async (state: "silent" | "back", reason: string): Promise<void> => {
    const source = `${feed.name}/silence`;
    const at = toldAt ?? clock.now();
    await trigger({
      source,
      dedupeKey: `${source} ${state} ${at}`.slice(-255),
      values: { state, feed: feed.name, reason },
    });
    toldAt = state === "silent" ? at : null;
  };
  return {
    async heard(): Promise<void> {
      heardAt = clock.monotonicMs();
      if (toldAt !== null) await tell("back", "");
    },
    async missed(reason: string): Promise<void> {
      const silentMs = clock.monotonicMs() - heardAt;
      if (toldAt === null && silentMs >= feed.silentAfterMinutes * 60_000) await tell("silent", reason);
    },
  };
}
