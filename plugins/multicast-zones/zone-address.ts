import { isIPv4 } from "node:net";

/** Where a zone listens. */
export interface ZoneAddress {
  group: string;
  port: number;
  codec: "PCMU" | "G722";
  /** Routers that a packet may pass, plus one. */
  ttl: number;
}

/** What was given as an address, or in words what is wrong with it. */
export type ZoneReading = { zone: ZoneAddress; fault?: never } | { fault: string; zone?: never };

/** @source protocols.md 4: a TTL of 1, the usual default, does not leave the own network */
const DEFAULT_TTL = 16;

/** Reads the four values of a zone, as numbers or as texts of attributes; codec and TTL may be missing. */
export function readZoneAddress(given: { group: unknown; port: unknown; codec: unknown; ttl: unknown }): ZoneReading {
  const group = given.group;
  if (typeof group !== "string" || !isMulticast(group)) {
    return { fault: `the group ${shown(group)} is not an IPv4 multicast address (224.0.0.0 to 239.255.255.255)` };
  }
  const port = wholeNumber(given.port);
  if (!(port >= 1 && port <= 65_535)) return { fault: `the port ${shown(given.port)} is not a number from 1 to 65535` };
  const ttl = wholeNumber(given.ttl ?? DEFAULT_TTL);
  if (!(ttl >= 1 && ttl <= 255)) return { fault: `the TTL ${shown(given.ttl)} is not a number from 1 to 255` };
  const codec = given.codec ?? "PCMU";
  if (codec !== "PCMU" && codec !== "G722") return { fault: `the codec ${shown(codec)} is neither PCMU nor G722` };
  return { zone: { group, port, codec, ttl } };
}

function isMulticast(address: string): boolean {
  const first = Number(address.split(".", 1)[0]);
  return isIPv4(address) && first >= 224 && first <= 239;
}

function wholeNumber(value: unknown): number {
  if (typeof value === "number") return Number.isInteger(value) ? value : Number.NaN;
  return typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
}

function shown(value: unknown): string {
  return value === undefined || value === null || value === "" ? "(none)" : String(value).slice(0, 40);
}
