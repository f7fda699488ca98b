import { backoffMs, type PluginContext } from "#plugin-api";
import { createFeedReader, type FeedReaderDeps, ServerBusyError } from "./feed-reader.ts";
import { createSilenceMonitor } from "./silence-monitor.ts";

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
