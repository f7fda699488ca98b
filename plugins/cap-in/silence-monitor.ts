import type { Clock, PluginContext } from "#plugin-api";
import type { FeedConfig } from "./feed-config.ts";

export interface SilenceMonitorDeps {
  feed: FeedConfig;
  clock: Clock;
  trigger: PluginContext["trigger"];
}

/** Triggers an input once when a feed has failed for too long, and once when it recovers. */
export function createSilenceMonitor({ feed, clock, trigger }: SilenceMonitorDeps) {
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
