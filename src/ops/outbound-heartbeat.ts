import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { Settings } from "../settings/schema.ts";

export interface OutboundHeartbeatDeps {
  clock: Clock;
  log: Log;
  settings: Settings["heartbeat"];
  /** True unless the appliance needs attention. */
  isHealthy(): boolean;
  /** Rejects unless the request succeeds. */
  sendRequest(url: string): Promise<void>;
}

/** Failed requests in a row before they are reported. */
const MAX_MISSED = 3;

/**
 * Requests a URL periodically while the appliance is healthy (dead man's switch): the monitoring service there notices an
 * appliance that is down, red or disconnected and can't report it itself.
 */
export function createOutboundHeartbeat({ clock, log, settings, isHealthy, sendRequest }: OutboundHeartbeatDeps): {
  start(): void;
  stop(): void;
  source(): { level: "yellow"; code: string; reason: Sentence }[];
} {
  let timer: Timer | null = null;
  let isSending = false;
  let missed = 0;

  async function beat(url: string): Promise<void> {
    if (isSending || !isHealthy()) return;
    isSending = true;
    try {
      await sendRequest(url);
      missed = 0;
    } catch (error) {
      missed += 1;
      if (missed === MAX_MISSED) log.warn({ event: "heartbeat.failed", err: error }, "outbound heartbeat failed");
    } finally {
      isSending = false;
    }
  }

  return {
    start() {
      const { url } = settings;
      if (url !== null) timer = clock.every(settings.everySeconds * 1_000, () => void beat(url));
    },
    stop: () => timer?.cancel(),
    source: () =>
      missed < MAX_MISSED
        ? []
        : [{ level: "yellow", code: "heartbeat", reason: sentence("health.heartbeats-failed", { missed }) }],
  };
}

const REQUEST_TIMEOUT_MS = 5_000;

/** A GET request that must succeed within five seconds. */
export async function sendHeartbeatRequest(url: string): Promise<void> {
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: "error" });
  if (!ok) throw new UpstreamError("upstream", sentence("error.the-heartbeat-url-responded-with-status", { status }));
}
