import type { Clock } from "../lib/clock.ts";
import { PAYLOAD_TYPE_PCMU, parseRtpPacket } from "../media/rtp.ts";
import type { MonitoredZone } from "./appliance-client.ts";
import { groupKey, type ReceivedPacket } from "./rtp-receiver.ts";
import type { AudioPacket } from "./stream-guard.ts";

/** A packet of a zone that may be played. */
export interface ZonePacket extends AudioPacket {
  zone: string;
  priority: number;
}

/** Decides which packets of monitored multicast groups may be played. */
export interface ZoneAdmission {
  /** The packet if it may be played, null if it is to be ignored; others are held until their stream is announced. */
  admit(packet: ReceivedPacket): ZonePacket | null;
  /** Replaces the zones; returns held packets that may now be played. */
  setZones(zones: readonly MonitoredZone[]): ZonePacket[];
}

/** A packet with audio of 20 ms; others are not held. */
const HELD_BYTES = 172;
/** One second of a stream: packets arrive before their announcement does. */
const MAX_HELD = 50;
const MAX_HELD_MS = 1_000;

/**
 * Starts without zones. `onStranger` receives packets that are in no announced stream of a zone.
 * @source docs/decisions/0763-encrypted-audio-to-agents.md, Zones
 */
export function createZoneAdmission(
  clock: Pick<Clock, "monotonicMs">,
  onStranger: (packet: ReceivedPacket) => void,
): ZoneAdmission {
  let zones = new Map<string, MonitoredZone>();
  let held: { packet: ReceivedPacket; at: number }[] = [];

  const isAnnounced = ({ streams, senders = [] }: MonitoredZone, ssrc: number | null, sender: string): boolean =>
    // An appliance of an earlier version announces nothing.
    streams === undefined ||
    senders.includes(sender) ||
    streams.some((stream) => stream.ssrc === ssrc && withoutScope(stream.source) === sender);

  const judge = ({ datagram, sender, zone: key }: ReceivedPacket): ZonePacket | "stranger" | null => {
    const zone = key === null ? undefined : zones.get(key);
    if (!zone || key === null) return null;
    const packet = parseRtpPacket(datagram);
    if (!isAnnounced(zone, packet?.ssrc ?? null, withoutScope(sender))) return "stranger";
    const isAudio = packet !== null && ((datagram[1] ?? 0) & 0x7f) === PAYLOAD_TYPE_PCMU;
    return isAudio ? { ...packet, zone: key, priority: zone.priority } : null;
  };
  const hold = (packet: ReceivedPacket): void => {
    const isHeld = packet.datagram.length === HELD_BYTES;
    if (isHeld) held.push({ packet, at: clock.monotonicMs() });
    const dropped = !isHeld ? packet : held.length > MAX_HELD ? held.shift()?.packet : undefined;
    if (dropped) onStranger(dropped);
  };
  return {
    admit(packet) {
      const judged = judge(packet);
      if (judged !== "stranger") return judged;
      hold(packet);
      return null;
    },
    setZones(given) {
      zones = new Map(given.map((zone) => [groupKey(zone), zone]));
      const waiting = held;
      held = [];
      return waiting.flatMap(({ packet, at }) => {
        const judged = clock.monotonicMs() - at > MAX_HELD_MS ? "stranger" : judge(packet);
        if (judged === "stranger") onStranger(packet);
        return judged === "stranger" || judged === null ? [] : [judged];
      });
    },
  };
}

/** An IPv6 address without its interface, whose name each machine chooses. */
function withoutScope(address: string): string {
  return address.replace(/%.*$/, "");
}
