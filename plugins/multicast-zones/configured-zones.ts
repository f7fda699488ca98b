import type { DeviceReport } from "#plugin-api";
import { sentence } from "./sentences.ts";
import { parseZoneAddress } from "./zone-address.ts";

/** Devices of a configuration, and errors as text. */
export interface ConfiguredZones {
  devices: DeviceReport[];
  errors: string[];
}

const MAX_NAME_LENGTH = 100;

/** Parses `zones`; an invalid entry is reported and skipped. */
export function parseConfiguredZones(zones: unknown): ConfiguredZones {
  if (!Array.isArray(zones)) return { devices: [], errors: [sentence("zones-list")] };
  const devices = new Map<string, DeviceReport>();
  const errors: string[] = [];
  zones.forEach((entry: unknown, index) => {
    const read = parseEntry(entry);
    if (typeof read === "string") errors.push(`zones[${index}]: ${read}`);
    else if (devices.has(read.deviceIdentifier)) errors.push(`zones[${index}]: ${sentence("entry.duplicate")}`);
    else devices.set(read.deviceIdentifier, read);
  });
  return { devices: [...devices.values()], errors };
}

function parseEntry(entry: unknown): DeviceReport | string {
  if (typeof entry !== "object" || entry === null) return sentence("entry.object");
  const { name, description, ...address } = entry as Record<string, unknown>;
  const { group, port, codec, ttl, priorities, interface: networkInterface } = address;
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME_LENGTH) {
    return sentence("entry.name", { length: MAX_NAME_LENGTH });
  }
  const { zone, error } = parseZoneAddress({ group, port, codec, ttl, priorities, networkInterface });
  if (!zone) return error;
  return {
    deviceIdentifier: `zone:${name}`,
    type: "speakers",
    description: typeof description === "string" && description !== "" ? description : name,
    attributes: {
      ...{ Group: zone.group, Port: String(zone.port), Codec: zone.codec, TTL: String(zone.ttl) },
      ...(typeof priorities === "string" && priorities !== "" ? { Priorities: priorities } : {}),
      ...(zone.networkInterface === undefined ? {} : { Interface: zone.networkInterface }),
    },
  };
}
