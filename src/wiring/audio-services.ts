import { networkInterfaces } from "node:os";
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
  /** Local IPv4 address of the interface that multicast is sent from. */
  interfaceAddress: string;
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
  // Rejections are handled by whoever awaits `ready`; that may not happen if the start fails earlier.
  ready.catch(() => undefined);
  const { multicastRange, emergencyRange } = settings.audio;
  const addresses = createMulticastAddressPool({
    clock,
    routine: addressRangeOf(multicastRange),
    emergency: addressRangeOf(emergencyRange),
  });
  const interfaceAddress = settings.network.multicastInterface ?? externalAddress();
  if (!isLocalAddress(interfaceAddress))
    log.warn(
      { event: "multicast.interface_invalid", interfaceAddress },
      "multicast disabled: not an address of this machine",
    );
  return { audio, streamer, addresses, interfaceAddress, ready, stop };
}

function addressRangeOf(network: string): MulticastAddressRange {
  const { first, last } = networkBounds(network);
  return { firstGroup: first, lastGroup: last, ...MULTICAST_PORTS };
}

/** The first external address of this machine; the loopback address if there is none. */
function externalAddress(): string {
  return localAddresses()[0] ?? "127.0.0.1";
}

function isLocalAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === address));
}

/** External IPv4 addresses of this machine. */
export function localAddresses(): string[] {
  const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return entries.filter((entry) => entry.family === "IPv4" && !entry.internal).map(({ address }) => address);
}
