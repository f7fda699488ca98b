import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Settings } from "../settings/schema.ts";

/** What the heartbeat is sent with. */
export interface OutboundHeartbeatDeps {
  clock: Clock;
  log: Log;
  settings: Settings["heartbeat"];
  /** True while the appliance is well enough that nobody need come. */
  isHealthy(): boolean;
  /** Calls the address; rejects when nobody took the call. */
  sendRequest(url: string): Promise<void>;
}

/** Calls missed in a row until that is told. own choice */
const MAX_MISSED = 3;

/**
 * Calls an address outside again and again while the appliance is well: whoever waits there notices a box that is dead,
 * red or cut off, which can't say so itself.
 */
export function createOutboundHeartbeat({ clock, log, settings, isHealthy, sendRequest }: OutboundHeartbeatDeps): {
  start(): void;
  stop(): void;
  source(): { level: "yellow"; code: string; reason: string }[];
} {
  let timer: Timer | null = null;
  let calling = false;
  let missed = 0;

  async function beat(url: string): Promise<void> {
    if (calling || !isHealthy()) return;
    calling = true;
    try {
      await sendRequest(url);
      missed = 0;
    } catch (error) {
      missed += 1;
      if (missed === MAX_MISSED) log.warn({ err: error }, "nobody outside takes the heartbeat");
    } finally {
      calling = false;
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
        : [{ level: "yellow", code: "heartbeat", reason: `Nobody outside took the last ${missed} heartbeats.` }],
  };
}

const REQUEST_TIMEOUT_MS = 5_000;

/** A GET that is answered well within five seconds. */
export async function sendHeartbeatRequest(url: string): Promise<void> {
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: "error" });
  if (!ok) throw new UpstreamError("upstream", `The heartbeat was answered ${status}.`);
}
