import { type AudioCodec, type DeliveryItem, isInterfaceName, isMulticastAddress } from "#plugin-api";
import { sentence } from "./sentences.ts";

export interface ZoneAddress {
  group: string;
  port: number;
  codec: AudioCodec;
  /** IP time to live: maximum number of routers plus one. */
  ttl: number;
  /** Interface to send from, by name or address; that of the plugin or the appliance if absent. */
  networkInterface?: string;
}

/** A valid address, or an error message. */
export type ZoneAddressResult = { zone: ZoneAddress; error?: never } | { error: string; zone?: never };

/** Unvalidated zone address. */
export interface ZoneAddressInput {
  group: unknown;
  port: unknown;
  codec: unknown;
  ttl: unknown;
  priorities?: unknown;
  networkInterface?: unknown;
}

/** A TTL of 1, the usual default, does not leave the local network. @source docs/decisions/0033-multicast-rtp.md */
const DEFAULT_TTL = 16;

const CODECS: readonly unknown[] = ["PCMU", "PCMA", "G722"] satisfies AudioCodec[];
const PRIORITY_LEVEL = /^(\d)(?:-(\d))?=(?:([\d.]+|\[[\da-fA-F:]+\]):)?(\d{1,5})$/;

/**
 * Validates a zone's values, numbers or attribute strings; codec, TTL and priorities are optional. With `priorities`
 * (`0-1=239.1.2.9:50008,2-4=50004`) a message goes to the address of its `priority`, if listed.
 */
export function parseZoneAddress(given: ZoneAddressInput, priority: number | null = null): ZoneAddressResult {
  const levels = parseLevels(given.priorities ?? "");
  if (typeof levels === "string") return { error: levels };
  const level = priority === null ? undefined : levels.find(({ from, to }) => priority >= from && priority <= to);
  if (!level) return parseAddress(given);
  return parseAddress({ ...given, group: level.group ?? given.group, port: level.port });
}

/** The address of a zone's device; see `parseZoneAddress`. */
export function parseZoneDevice(
  { attributes }: Pick<DeliveryItem["device"], "attributes">,
  priority: number | null = null,
): ZoneAddressResult {
  const { Group: group, Port: port, Codec: codec, TTL: ttl, Priorities: priorities } = attributes;
  return parseZoneAddress({ group, port, codec, ttl, priorities, networkInterface: attributes.Interface }, priority);
}

function parseLevels(given: unknown): { from: number; to: number; group: string | undefined; port: string }[] | string {
  const parts = String(given)
    .split(",")
    .flatMap((part) => part.trim() || []);
  const levels = parts.map((part) => PRIORITY_LEVEL.exec(part));
  if (levels.includes(null)) return sentence("priorities-invalid", { given: shown(given) });
  return levels.flatMap((level) => {
    const [, from, to = from, group, port = ""] = level ?? [];
    return { from: Number(from), to: Number(to), group: group?.replace(/^\[|\]$/g, ""), port };
  });
}

function parseAddress(given: ZoneAddressInput): ZoneAddressResult {
  const group = given.group;
  if (typeof group !== "string" || !isMulticastAddress(group))
    return { error: sentence("group-invalid", { group: shown(group) }) };
  const port = wholeNumber(given.port);
  if (!(port >= 1 && port <= 65_535)) return { error: sentence("port-invalid", { port: shown(given.port) }) };
  const ttl = wholeNumber(given.ttl ?? DEFAULT_TTL);
  if (!(ttl >= 1 && ttl <= 255)) return { error: sentence("ttl-invalid", { ttl: shown(given.ttl) }) };
  const codec = given.codec ?? "PCMU";
  if (!CODECS.includes(codec))
    return { error: sentence("codec-invalid", { codec: shown(codec), codecs: CODECS.join(", ") }) };
  const networkInterface = given.networkInterface ?? "";
  if (networkInterface === "") return { zone: { group, port, codec: codec as AudioCodec, ttl } };
  if (typeof networkInterface !== "string" || !isInterfaceName(networkInterface))
    return { error: sentence("interface-invalid", { name: shown(networkInterface) }) };
  return { zone: { group, port, codec: codec as AudioCodec, ttl, networkInterface } };
}

function wholeNumber(value: unknown): number {
  if (typeof value === "number") return Number.isInteger(value) ? value : Number.NaN;
  return typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
}

function shown(value: unknown): string {
  return value === undefined || value === null || value === "" ? "(none)" : String(value).slice(0, 40);
}
