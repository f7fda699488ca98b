import type { Clock, Timer } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { externalAddresses, type OwnAddress } from "../lib/network-route.ts";
import { createNetworkWatch, type NetworkWatch } from "../lib/network-watch.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { checkMulticast, type MulticastCheck, type MulticastTarget } from "../media/multicast-check.ts";
import type { Streamer } from "../media/streamer.ts";
import type { NetworkState } from "../ops/diagnostics.ts";
import type { HealthReason, HealthSource } from "../ops/health/health.ts";
import { networkBounds } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";

/** Follows the machine's network: tells the parts that use it of changes, and reports whether audio can leave. */
export interface NetworkMonitor {
  /** Resolves after the first check. */
  start(): Promise<void>;
  stop(): void;
  healthSource: HealthSource;
  /** The addresses in use now. */
  state(): NetworkState;
}

/** Creates the watch that calls `onChange`; replaced in tests. */
export type CreateWatch = (
  onChange: (addresses: readonly OwnAddress[]) => void,
) => Pick<NetworkWatch, "start" | "stop">;

export interface NetworkMonitorDeps {
  settings: Pick<Settings, "audio" | "network">;
  clock: Clock;
  events: Events;
  log: Log;
  streamer: Pick<Streamer, "networkChanged">;
  /** A cloud sends no multicast. */
  sendsMulticast: boolean;
  createWatch?: CreateWatch;
  check?: (target: MulticastTarget, clock: Clock) => Promise<MulticastCheck>;
}

/** Check without a change: a packet filter or a policy may have changed. */
const CHECK_MS = 60_000;
/** Until it is good again. */
const RECHECK_MS = 5_000;

/** Nothing is watched before `start`. */
export function createNetworkMonitor(deps: NetworkMonitorDeps): NetworkMonitor {
  const { settings, clock, events, log, streamer, check = checkMulticast } = deps;
  const { networkInterface, group } = {
    networkInterface: settings.network.multicastInterface,
    group: networkBounds(settings.audio.multicastRange).first,
  };
  let multicast: MulticastCheck = { address: null, problem: null };
  let timer: Timer | null = null;
  let round = 0;
  let stopped = false;

  const checkNow = async (): Promise<void> => {
    if (!deps.sendsMulticast || stopped) return;
    timer?.cancel();
    const own = ++round;
    const found = await check({ group, port: 0, networkInterface }, clock);
    // A later change makes this result old.
    if (own !== round || stopped) return;
    if (found.problem !== multicast.problem) {
      if (found.problem !== null)
        log.error({ event: "multicast.unreachable", group, reason: found.problem }, "no network route for multicast");
      else if (multicast.problem !== null)
        log.info(
          { event: "multicast.reachable", group, address: found.address },
          "network route for multicast restored",
        );
    }
    multicast = found;
    const wait = found.problem === null ? CHECK_MS : RECHECK_MS;
    timer = clock.after(wait, () => void checkNow(), { background: true });
  };
  const createWatch = deps.createWatch ?? ((onChange) => createNetworkWatch({ clock, log, onChange }));
  const watch = createWatch((addresses) => {
    streamer.networkChanged();
    events.emit("network.changed", { addresses });
    void checkNow();
  });

  return {
    async start() {
      watch.start();
      await checkNow();
    },
    stop() {
      stopped = true;
      timer?.cancel();
      watch.stop();
    },
    healthSource: () => healthReasons(multicast),
    state: () => ({ addresses: externalAddresses(), multicast: { group, networkInterface, ...multicast } }),
  };
}

function healthReasons({ problem }: MulticastCheck): HealthReason[] {
  if (problem === null) return [];
  return [{ level: "red", code: "multicast", reason: sentence("health.multicast", { problem }) }];
}
