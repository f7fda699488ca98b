import type { Clock, PluginContext } from "#plugin-api";
import type { Alert } from "./alert.ts";
import { type Entry, readFeed } from "./feed.ts";
import { markOf } from "./filter.ts";
import type { Followed } from "./followed.ts";
import { nameOf, replacedBy } from "./precedence.ts";

/** What reading a feed needs. */
export interface ReaderNeeds {
  feed: Followed;
  /** Shown as bearer; null for none. */
  token: string | null;
  clock: Clock;
  log: PluginContext["log"];
  fetch: PluginContext["fetch"];
  state: PluginContext["state"];
  /** The alert of a document. Throws RangeError for what is none to be trusted. */
  read(text: string): Alert;
  /** Takes an alert; resolves when what follows from it is stored. */
  take(alert: Alert): Promise<void>;
}

/** Reads a feed, again and again. */
export interface Reader {
  /** Takes what is new; resolves with what of it can't be taken now, in words. Rejects when the feed itself can't be read. */
  look(): Promise<string[]>;
}

/** Documents read for one look at a feed; the others come with the next. own choice */
const MOST_DOCUMENTS = 50;
/** Nothing more is asked for in a look that has taken so long. own choice */
const LONGEST_LOOK_MS = 60_000;
/** Documents of which the server says that it is busy before the rest of a look is left for the next. own choice */
const MOST_BUSY = 3;
/** A document that can't be read is tried in so many looks, always after all others. own choice */
const MOST_TRIES = 10;
/** More than a feed has at once. own choice */
const MOST_SEEN = 2_000;
const ANSWER_MS = 20_000;
/** The longest wait that a server may ask for. own choice */
const LONGEST_ASKED_MS = 3_600_000;

/** Thrown where a server asks to wait. */
export class Busy extends RangeError {
  readonly waitMs: number;

  constructor(words: string, seconds: number) {
    super(words);
    this.waitMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, LONGEST_ASKED_MS) : 0;
  }
}

interface Fresh extends Entry {
  mark: string;
}

/** A document that could not be read, or not stored. */
interface Trouble {
  tries: number;
  /** Monotonic ms before which it is not asked for. */
  notBefore: number;
  givenUp: boolean;
}

/** Makes the reader of a feed. */
export function createReader({ feed, token, clock, log, fetch, state, read, take }: ReaderNeeds): Reader {
  const seen = keptMarks(`seen:${feed.name}`, state);
  /** Alerts that others have replaced, lest an older document of theirs be taken for news. */
  const replaced = keptMarks(`replaced:${feed.name}`, state);
  const troubles = new Map<string, Trouble>();
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
    if (status !== 429 && status !== 503) throw new RangeError(words);
    throw new Busy(words, Number(answer.headers["retry-after"]));
  };

  /** Remembers why a document was not taken, and says it. */
  const blame = ({ url, mark }: Fresh, error: unknown): string => {
    const words = `${new URL(url).pathname}: ${error instanceof Error ? error.message : String(error)}`;
    const tries = (troubles.get(mark)?.tries ?? 0) + 1;
    const notBefore = clock.monotonicMs() + (error instanceof Busy ? error.waitMs : 0);
    const givenUp = tries >= MOST_TRIES && error instanceof RangeError && !(error instanceof Busy);
    if (givenUp) log.warn({ feed: feed.name, reason: words }, "a document is given up");
    troubles.set(mark, { tries, notBefore, givenUp });
    return words;
  };

  /** What is to be read, what was tried least first. */
  const freshOf = async (entries: readonly Entry[]): Promise<Fresh[]> => {
    const before = await seen.all();
    const marked = entries.map((entry) => ({ ...entry, mark: markOf(entry.version) }));
    const marks = new Set(marked.map(({ mark }) => mark));
    for (const mark of troubles.keys()) if (!marks.has(mark)) troubles.delete(mark);
    const triesOf = ({ mark }: Fresh): number => troubles.get(mark)?.tries ?? 0;
    return marked
      .filter(({ mark }) => !before.has(mark) && !troubles.get(mark)?.givenUp)
      .sort((a, b) => triesOf(a) - triesOf(b));
  };

  /** The alerts of documents, as far as they can be read within the time of a look. */
  const readAll = async (fresh: readonly Fresh[], textOf: (entry: Fresh) => Promise<string>, faults: string[]) => {
    const begun = clock.monotonicMs();
    const alerts: { entry: Fresh; alert: Alert }[] = [];
    let busy = 0;
    for (const entry of fresh) {
      if (busy >= MOST_BUSY || clock.monotonicMs() - begun >= LONGEST_LOOK_MS) break;
      try {
        alerts.push({ entry, alert: read(await textOf(entry)) });
      } catch (error) {
        busy += Number(error instanceof Busy);
        faults.push(blame(entry, error));
      }
    }
    return alerts;
  };

  return {
    async look() {
      const answer = await get(feed.url, known);
      if (answer.status === 304) return [];
      const content = readFeed(answer.body, feed.url);
      const own = "alert" in content ? content.alert : null;
      const fresh = await freshOf(
        own === null ? (content as { entries: Entry[] }).entries : [{ url: feed.url, version: own }],
      );
      const now = clock.monotonicMs();
      const asked = fresh.filter(({ mark }) => (troubles.get(mark)?.notBefore ?? 0) <= now).slice(0, MOST_DOCUMENTS);
      const faults: string[] = [];
      const alerts = await readAll(asked, async ({ url }) => own ?? (await get(url)).body, faults);
      await replaced.add(alerts.flatMap(({ alert }) => replacedBy(alert)).map(markOf));
      const old = await replaced.all();
      let taken = 0;
      for (const { entry, alert } of alerts.sort((a, b) => Date.parse(a.alert.sent) - Date.parse(b.alert.sent))) {
        try {
          if (old.has(markOf(nameOf(alert))))
            log.info({ feed: feed.name, identifier: alert.identifier }, "an alert was replaced before it was read");
          else await take(alert);
          await seen.add([entry.mark]);
          taken++;
        } catch (error) {
          faults.push(blame(entry, error));
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
function keptMarks(key: string, state: PluginContext["state"]) {
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
      marks = [...before, ...unknown].slice(-MOST_SEEN);
      await state.set(key, marks);
    },
  };
}
