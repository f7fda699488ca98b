import { type Clock, checkMulticast, type DeliveryItem, type MulticastTarget, type ProbeResult } from "#plugin-api";
import { parseZoneDevice, type ZoneAddress } from "./zone-address.ts";

/**
 * Joins the zone's group and sends packets that do not leave the machine (TTL 0). Receiving them proves that group,
 * route and local network work; multicast never proves that a speaker receives.
 */
export async function probeZone(
  device: DeliveryItem["device"],
  clock: Clock,
  targetOf: (zone: ZoneAddress) => MulticastTarget,
): Promise<ProbeResult> {
  const { zone, error } = parseZoneDevice(device);
  if (!zone) return { proof: null, reason: error };
  const { problem } = await checkMulticast(targetOf(zone), clock);
  return problem === null ? { proof: "looped" } : { proof: null, reason: problem };
}
