import { backoffMs, type PluginContext } from "#plugin-api";
import { createFeedReader, type FeedReaderDeps, ServerBusyError } from "./feed-reader.ts";

export interface FeedPollerDeps extends FeedReaderDeps {
  signal: AbortSignal;
  trigger: PluginContext["trigger"];
  /** Reports the result of a poll: null, or an error of the feed or of single documents. */
  onState(error: string | null): void;
}

/** Upper limit of the backoff after failures. */
const MAX_BACKOFF_MS = 900_000;

/** Polls a feed until the signal aborts. */
export function startFeedPoller(deps: FeedPollerDeps): void {
  const { feed, clock, signal, onState } = deps;
  const reader = createFeedReader(deps);
  const silence = createSilenceMonitor(deps);
  let failures = 0;
  const poll = async (): Promise<void> => {
    let waitMs = feed.everySeconds * 1_000;
    try {
      const errors = await reader.poll();
      failures = 0;
      onState(errors.length === 0 ? null : errors.join("; "));
      await silence.heard();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      failures++;
      const retryAfterMs = error instanceof ServerBusyError ? error.waitMs : 0;
      waitMs = Math.max(retryAfterMs, backoffMs(failures + 1, waitMs, Math.max(waitMs, MAX_BACKOFF_MS)));
      onState(message);
      await silence.missed(message).catch(() => undefined);
    }
    if (!signal.aborted) clock.after(waitMs, () => void poll());
  };
  void poll();
}

/** Triggers an input once when a feed has failed for too long, and once when it recovers. */
function createSilenceMonitor({ feed, clock, trigger }: FeedPollerDeps) {
  let lastReadAt = clock.monotonicMs();
  let silentSince: number | null = null;
  const report = async (state: "silent" | "back", reason: string): Promise<void> => {
    const source = `${feed.name}/silence`;
    const at = silentSince ?? clock.now();
    await trigger({
      source,
      dedupeKey: `${source} ${state} ${at}`.slice(-255),
      values: { state, feed: feed.name, reason },
    });
    silentSince = state === "silent" ? at : null;
  };
  return {
    async heard(): Promise<void> {
      lastReadAt = clock.monotonicMs();
      if (silentSince !== null) await report("back", "");
    },
    async missed(reason: string): Promise<void> {
      const silentMs = clock.monotonicMs() - lastReadAt;
      if (silentSince === null && silentMs >= feed.silentAfterMinutes * 60_000) await report("silent", reason);
    },
  };
}
