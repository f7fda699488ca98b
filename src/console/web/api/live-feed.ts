import type { BrowserClock } from "../browser-clock.ts";

/** A changed row; the row itself must be read again. */
export interface RowChange {
  resource: string;
  id: string;
  op: string;
}

/** Whether the screen is live; `since` is the epoch ms of the last message. */
export interface FeedState {
  live: boolean;
  since: number;
}

/** The part of a WebSocket that the feed uses. */
export interface FeedSocket {
  close(): void;
}

/** Dependencies of `createLiveFeed`. */
export interface LiveFeedOptions {
  /** Domain whose changes are sent; the user's first one by default. */
  domainId?: string | null;
  clock: BrowserClock;
  /** Opens a socket; calls `message` for each message and `end` once when it has closed. */
  open(address: string, on: { message(text: string): void; end(): void }): FeedSocket;
  onChanges(changes: readonly RowChange[]): void;
  /** The feed can't tell what was missed: everything is stale. */
  onResync(): void;
  onState(state: FeedState): void;
  /** What the clock of the appliance shows, in epoch ms. */
  onServerTime?(nowMs: number): void;
}

/** Follows the change feed. */
export interface LiveFeed {
  start(): void;
  stop(): void;
}

/** Heartbeats come every 5 s; after two of them missed, nothing on the screen may pass for live. */
const SILENCE_MS = 11_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/**
 * Creates the feed. It resumes after the last sequence number it saw, reconnects with exponential backoff, and
 * reports its state.
 */
export function createLiveFeed(needs: LiveFeedOptions): LiveFeed {
  const { clock, open, onChanges, onResync, onState, onServerTime, domainId = null } = needs;
  let seq: number | null = null;
  let socket: FeedSocket | null = null;
  let timer: { cancel(): void } | null = null;
  let retryMs = FIRST_RETRY_MS;
  let since = clock.now();
  let turn = 0;

  const watch = (delayMs: number, fn: () => void): void => {
    timer?.cancel();
    timer = clock.after(delayMs, fn);
  };

  const heard = (text: string): void => {
    const message = readMessage(text);
    if (!message) return;
    const resumed = seq !== null;
    if (message.seq !== null) seq = message.seq;
    if (message.now !== null) onServerTime?.(message.now);
    since = clock.now();
    retryMs = FIRST_RETRY_MS;
    watch(SILENCE_MS, () => cut());
    // Without a number to resume from, what happened before the first message is unknown.
    if (message.resync || !resumed) onResync();
    if (message.changes.length > 0) onChanges(message.changes);
    onState({ live: true, since });
  };

  const cut = (): void => {
    turn++;
    socket?.close();
    socket = null;
    onState({ live: false, since });
    watch(retryMs, connect);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  };

  const connect = (): void => {
    const mine = ++turn;
    watch(SILENCE_MS, () => cut());
    const current = (): boolean => mine === turn;
    const query = new URLSearchParams({
      ...(seq === null ? {} : { since: String(seq) }),
      ...(domainId === null ? {} : { domain: domainId }),
    }).toString();
    socket = open(`/api/live${query && `?${query}`}`, {
      message: (text) => current() && heard(text),
      end: () => current() && cut(),
    });
  };

  return {
    start: connect,
    stop() {
      turn++;
      timer?.cancel();
      socket?.close();
      socket = null;
    },
  };
}

interface Message {
  seq: number | null;
  now: number | null;
  changes: readonly RowChange[];
  resync: boolean;
}

function readMessage(text: string): Message | null {
  try {
    const { seq = null, now = null, changes = [], resync } = JSON.parse(text) as Partial<Message>;
    return { seq, now, changes, resync: resync === true };
  } catch {
    return null;
  }
}
