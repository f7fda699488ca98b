import type { DeliveryProfile } from "./delivery.ts";

/** A ring planned for a device; times are epoch ms. */
export interface PlannedRing {
  /** Id of the ring and of the notification it sends. */
  ringId: string;
  at: number;
  /** Latest start. */
  notAfter: number;
  /** 0 highest … 9 lowest. */
  priority: number;
  volume: DeliveryProfile["volume"];
  /** G.711 µ-law in whole packets of 160 bytes; fetch it with `rings.sound`. */
  sound: { sha256: string; bytes: number };
}

/** Rings of the next 14 days on one device, ordered by time; one per instant, the one with the highest priority. */
export interface RingPlan {
  attributes: Readonly<Record<string, string>>;
  /** End of the planned period, epoch ms. */
  until: number;
  rings: PlannedRing[];
}

/** A ring that a device played while the appliance was unreachable. */
export interface OfflineRing {
  ringId: string;
  /** Due time, epoch ms. */
  at: number;
}

/**
 * Upcoming rings, for devices that can ring while the appliance is unreachable; requires `"rings": true` in
 * plugin.json.
 */
export interface Rings {
  /** Null for an unknown device. Rejects while the plan is being computed: retry later. */
  planned(deviceIdentifier: string): Promise<RingPlan | null>;
  /** At most 256 KiB of a planned sound from a byte offset; null if no plan refers to it any more. */
  sound(sha256: string, from: number): Promise<Uint8Array | null>;
  /**
   * Reports rings that a device played offline, at most 500 from the last 40 days; idempotent. Resolves when they are
   * stored.
   */
  playedAlone(deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  /** The complete list of devices with outdated plans, for the health status; an empty list clears it. */
  behind(deviceIdentifiers: readonly string[]): Promise<void>;
}
