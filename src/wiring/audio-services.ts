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

/** Ports of multicast streams that every phone takes. @source protocols.md 3, RTPMRx */
const MULTICAST_PORTS = { firstPort: 20_480, lastPort: 32_766 };

/** What makes and sends sound. */
export interface AudioServices {
  audio: AudioRenderer;
  streamer: Streamer;
  addresses: MulticastAddressPool;
  /** Own IPv4 address on the network that multicast goes to. */
  interfaceAddress: string;
  /** Resolves when packets can be sent; rejects with UpstreamError. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** Starts both threads of the sound, which get ready while the caller goes on. */
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
  // Told to whoever waits for it, which may be nobody when the start ends before.
  ready.catch(() => undefined);
  const { multicastRange, emergencyRange } = settings.audio;
  const addresses = createMulticastAddressPool({
    clock,
    routine: addressRangeOf(multicastRange),
    emergency: addressRangeOf(emergencyRange),
  });
  const interfaceAddress = settings.network.multicastInterface ?? externalAddress();
  if (!isLocalAddress(interfaceAddress))
    log.warn({ interfaceAddress }, "multicast can't be sent: the address is not this machine's");
  return { audio, streamer, addresses, interfaceAddress, ready, stop };
}

function addressRangeOf(network: string): MulticastAddressRange {
  const { first, last } = networkBounds(network);
  return { firstGroup: first, lastGroup: last, ...MULTICAST_PORTS };
}

/** The first address under which other machines know this one; the loopback address when there is none. */
function externalAddress(): string {
  return localAddresses()[0] ?? "127.0.0.1";
}

function isLocalAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === address));
}

/** Outside IPv4 addresses of this machine. */
export function localAddresses(): string[] {
  const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return entries.filter((entry) => entry.family === "IPv4" && !entry.internal).map(({ address }) => address);
}
