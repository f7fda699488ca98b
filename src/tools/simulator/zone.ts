import type { ApiDevice } from "./api-device.ts";
import type { ListeningSession } from "./reception-analysis.ts";
import type { RtpEndpoints } from "./rtp-endpoints.ts";

const FIRST_PORT = 20_480;
/** Number of zones with different groups per port. */
const GROUPS_PER_PORT = 250;

/** A multicast zone with one speaker, which listens as long as the simulator runs. */
export interface SimulatedZone {
  readonly name: string;
  readonly group: string;
  readonly port: number;
  readonly listening: ListeningSession;
}

/**
 * Opens `count` zones. Their groups are derived from `uniquePort`, a TCP port owned by this process, because all processes of
 * the machine receive multicast on the loopback interface.
 */
export function openSimulatedZones(
  count: number,
  uniquePort: number,
  sources: RtpEndpoints,
  at: () => number,
): Promise<SimulatedZone[]> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return Promise.all(
    indexes.map(async (index) => {
      const group = `239.${uniquePort >> 8}.${uniquePort & 0xff}.${1 + (index % GROUPS_PER_PORT)}`;
      const port = FIRST_PORT + 2 * Math.floor(index / GROUPS_PER_PORT);
      const source = await sources.openMulticast(group, port);
      const name = `zone:Zone-${String(index + 1).padStart(2, "0")}`;
      return { name, group, port, listening: { source, joinedAt: at(), leftAt: null } };
    }),
  );
}

/** The zone as a device for the API. @source docs/decisions/0012-extensions-and-endpoints.md */
export function zoneAsDevice(zone: SimulatedZone): ApiDevice {
  return {
    type: "speakers",
    deviceIdentifier: zone.name,
    description: zone.name.replace("zone:Zone-", "Zone "),
    attributes: { Group: zone.group, Port: String(zone.port), Codec: "PCMU", TTL: "1" },
  };
}
