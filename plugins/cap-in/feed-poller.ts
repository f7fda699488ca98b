import type { PluginContext } from "#plugin-api";
import { createFeedReader, type FeedReaderDeps, ServerBusyError } from "./feed-reader.ts";

/** What following a feed needs. */
export interface FeedPollerDeps extends FeedReaderDeps {
  signal: AbortSignal;
  trigger: PluginContext["trigger"];
  /** The feed was read, or why not, or what of it can't be taken. */
  onState(fault: string | null): void;
}

/** The longest wait after failures. own choice */
const MAX_BACKOFF_MS = 900_000;

/** Looks at a feed again and again until the signal aborts. */
export function startFeedPoller(needs: FeedPollerDeps): void {
  const { feed, clock, signal, onState } = needs;
  const reader = createFeedReader(needs);
  const silence = createSilenceMonitor(needs);
  let failures = 0;
  const poll = async (): Promise<void> => {
    let waitMs = feed.everySeconds * 1_000;
    try {
      const faults = await reader.poll();
      failures = 0;
      onState(faults.length === 0 ? null : faults.join("; "));
      await silence.heard();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      failures++;
      const asked = error instanceof ServerBusyError ? error.waitMs : 0;
      waitMs = Math.max(asked, Math.min(waitMs * 2 ** failures, Math.max(waitMs, MAX_BACKOFF_MS)));
      onState(words);
      await silence.missed(words).catch(() => undefined);
    }
    if (!signal.aborted) clock.after(waitMs, () => void poll());
  };
  void poll();
}

/** Tells when nothing was heard of a feed for too long, and when it is back; once each. */
function createSilenceMonitor({ feed, clock, trigger }: FeedPollerDeps) {
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
