import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { AudioRenderer } from "../media/audio-renderer.ts";
import {
  createMulticastAddressPool,
  type MulticastAddressPool,
  type MulticastAddressRange,
} from "../media/multicast-address-pool.ts";
import { Streamer } from "../media/streamer.ts";
import { networkBounds } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";

/** Multicast ports that every phone accepts. @source docs/decisions/0033-multicast-rtp.md */
const MULTICAST_PORTS = { firstPort: 20_480, lastPort: 32_766 };

/** Renders and streams audio. */
export interface AudioServices {
  audio: AudioRenderer;
  streamer: Streamer;
  addresses: MulticastAddressPool;
  /** Interface that multicast is sent from, by name or IPv4 address; null: as the system's routes lead. */
  networkInterface: string | null;
  /** Resolves when packets can be sent; rejects with UpstreamError. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** Starts the renderer thread and the streamer thread; does not wait until they are ready. */
export function startAudioServices(
  settings: Pick<Settings, "audio" | "network">,
  clock: Clock,
  log: Log,
): AudioServices {
  const audio = new AudioRenderer({ log });
  const streamer = new Streamer({ clock, log });
  audio.start();
  const stop = async (): Promise<void> => void (await Promise.all([audio.stop(), streamer.stop()]));
  const ready = streamer.start();
  // Rejections are handled where `ready` is awaited, which may not happen if the start fails earlier.
  ready.catch(() => undefined);
  const { multicastRange, emergencyRange } = settings.audio;
  const addresses = createMulticastAddressPool({
    clock,
    routine: addressRangeOf(multicastRange),
    emergency: addressRangeOf(emergencyRange),
  });
  const networkInterface = settings.network.multicastInterface;
  return { audio, streamer, addresses, networkInterface, ready, stop };
}

function addressRangeOf(network: string): MulticastAddressRange {
  const { first, last } = networkBounds(network);
  return { firstGroup: first, lastGroup: last, ...MULTICAST_PORTS };
}
