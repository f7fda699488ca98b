import { isIPv4 } from "node:net";
import type { AudioCodec } from "#plugin-api";

/** Where a zone listens. */
export interface ZoneAddress {
  group: string;
  port: number;
  codec: AudioCodec;
  /** Routers that a packet may pass, plus one. */
  ttl: number;
}

/** What was given as an address, or in words what is wrong with it. */
export type ZoneAddressResult = { zone: ZoneAddress; fault?: never } | { fault: string; zone?: never };

/** A zone as it was given. */
export interface ZoneAddressInput {
  group: unknown;
  port: unknown;
  codec: unknown;
  ttl: unknown;
  priorities?: unknown;
}

/** @source protocols.md 4: a TTL of 1, the usual default, does not leave the own network */
const DEFAULT_TTL = 16;

const CODECS: readonly unknown[] = ["PCMU", "PCMA", "G722"] satisfies AudioCodec[];
const PRIORITY_LEVEL = /^(\d)(?:-(\d))?=(?:([\d.]+):)?(\d{1,5})$/;

/**
 * Reads the values of a zone, as numbers or as texts of attributes; codec, TTL and priorities may be missing. With
 * `priorities` (`0-1=239.1.2.9:50008,2-4=50004`) a message goes to the address of its own `priority`, where that has one.
 */
export function parseZoneAddress(given: ZoneAddressInput, priority: number | null = null): ZoneAddressResult {
  const levels = parseLevels(given.priorities ?? "");
  if (typeof levels === "string") return { fault: levels };
  const level = priority === null ? undefined : levels.find(({ from, to }) => priority >= from && priority <= to);
  if (!level) return parseAddress(given);
  return parseAddress({ ...given, group: level.group ?? given.group, port: level.port });
}

function parseLevels(given: unknown): { from: number; to: number; group: string | undefined; port: string }[] | string {
  const parts = String(given)
    .split(",")
    .flatMap((part) => part.trim() || []);
  const levels = parts.map((part) => PRIORITY_LEVEL.exec(part));
  if (levels.includes(null)) return `the priorities ${shown(given)} are no list such as 0-1=239.1.2.9:50008,2-9=50000`;
  return levels.flatMap((level) => {
    const [, from, to = from, group, port = ""] = level ?? [];
    return { from: Number(from), to: Number(to), group, port };
  });
}

function parseAddress(given: ZoneAddressInput): ZoneAddressResult {
  const group = given.group;
  if (typeof group !== "string" || !isMulticast(group)) {
    return { fault: `the group ${shown(group)} is not an IPv4 multicast address (224.0.0.0 to 239.255.255.255)` };
  }
  const port = wholeNumber(given.port);
  if (!(port >= 1 && port <= 65_535)) return { fault: `the port ${shown(given.port)} is not a number from 1 to 65535` };
  const ttl = wholeNumber(given.ttl ?? DEFAULT_TTL);
  if (!(ttl >= 1 && ttl <= 255)) return { fault: `the TTL ${shown(given.ttl)} is not a number from 1 to 255` };
  const codec = given.codec ?? "PCMU";
  if (!CODECS.includes(codec)) return { fault: `the codec ${shown(codec)} is none of ${CODECS.join(", ")}` };
  return { zone: { group, port, codec: codec as AudioCodec, ttl } };
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
