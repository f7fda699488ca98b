import type { DeliveryProfile } from "./delivery.ts";

/** A ring that would sound on a device; times are epoch ms. */
export interface PlannedRing {
  /** That of the ring, and of the message that it sends. */
  ringId: string;
  at: number;
  /** Later than this it does not sound any more. */
  notAfter: number;
  /** 0 highest … 9 lowest. */
  priority: number;
  volume: DeliveryProfile["volume"];
  /** G.711 µ-law in whole packets of 160 bytes, for `rings.sound`. */
  sound: { sha256: string; bytes: number };
}

/** The rings of the next 14 days on one device, in order of time: one at an instant, the most urgent. */
export interface RingPlan {
  /** Attributes of the device. */
  attributes: Readonly<Record<string, string>>;
  /** Epoch ms; it says nothing of what comes after. */
  until: number;
  rings: PlannedRing[];
}

/** A ring that a device has played by itself. */
export interface OfflineRing {
  ringId: string;
  /** Epoch ms at which it was due. */
  at: number;
}

/** The rings to come, for devices that can play them when the appliance is gone; needs `"rings": true` in plugin.json. */
export interface Rings {
  /** Null when the plugin has no such device. Rejects while the plan is being made: ask again later. */
  planned(deviceIdentifier: string): Promise<RingPlan | null>;
  /** At most 256 KiB of a sound of a plan, from a byte on; null when no plan names it any more. */
  sound(sha256: string, from: number): Promise<Uint8Array | null>;
  /** A device has played rings by itself, at most 500 of the last 40 days; resolves when that is written, may be repeated. */
  playedAlone(deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  /** Devices that do not get their plans, all of them: the appliance's health tells; none takes that back. */
  behind(deviceIdentifiers: readonly string[]): Promise<void>;
}
