import { networkInterfaces } from "node:os";
import { type AddressPool, type AddressRange, createAddressPool } from "../audio/address-pool.ts";
import { AudioWorker } from "../audio/audio-worker.ts";
import { Streamer } from "../audio/streamer.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { boundsOf } from "../settings/addresses.ts";
import type { Settings } from "../settings/schema.ts";

/** Ports of multicast streams that every phone takes. @source protocols.md 3, RTPMRx */
const PORTS = { firstPort: 20_480, lastPort: 32_766 };

/** What makes and sends sound. */
export interface Sound {
  audio: AudioWorker;
  streamer: Streamer;
  addresses: AddressPool;
  /** Own IPv4 address on the network that multicast goes to. */
  interfaceAddress: string;
  /** Resolves when packets can be sent; rejects with UpstreamError. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** Starts both threads of the sound, which get ready while the caller goes on. */
export function startSound(settings: Pick<Settings, "audio" | "network">, clock: Clock, log: Log): Sound {
  const audio = new AudioWorker({ log });
  const streamer = new Streamer({ clock, log });
  audio.start();
  const stop = async (): Promise<void> => void (await Promise.all([audio.stop(), streamer.stop()]));
  const ready = streamer.start();
  // Told to whoever waits for it, which may be nobody when the start ends before.
  ready.catch(() => undefined);
  const { multicastRange, emergencyRange } = settings.audio;
  const addresses = createAddressPool({ clock, routine: rangeOf(multicastRange), emergency: rangeOf(emergencyRange) });
  const interfaceAddress = settings.network.multicastInterface ?? outsideAddress();
  if (!isOwn(interfaceAddress))
    log.warn({ interfaceAddress }, "multicast can't be sent: the address is not this machine's");
  return { audio, streamer, addresses, interfaceAddress, ready, stop };
}

function rangeOf(network: string): AddressRange {
  const { first, last } = boundsOf(network);
  return { firstGroup: first, lastGroup: last, ...PORTS };
}

/** The first address under which other machines know this one; the loopback address when there is none. */
function outsideAddress(): string {
  return ownAddresses()[0] ?? "127.0.0.1";
}

function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === address));
}

/** Outside IPv4 addresses of this machine. */
export function ownAddresses(): string[] {
  const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return entries.filter((entry) => entry.family === "IPv4" && !entry.internal).map(({ address }) => address);
}
