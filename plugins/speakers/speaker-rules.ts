import { isIP } from "node:net";
import { type DeliveryProfile, isMulticastAddress } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** A multicast group that a speaker also plays; priority 0 is the highest. */
export interface MonitoredZone {
  group: string;
  port: number;
  priority: number;
  /** Addresses of other systems whose audio is played; that of the appliance itself is announced. */
  senders: readonly string[];
}

/** Settings of one speaker. */
export interface SpeakerSettings {
  /** Default volume, 0 to 100. */
  volume: number;
  /** Playback delay for synchronization with slower models. */
  delayMs: number;
  zones: readonly MonitoredZone[];
}

/** Identity of an agent. */
export interface AgentIdentity {
  mac: string;
  model: string;
}

/** Settings by agent, and errors of the rules as text. */
export interface SpeakerRules {
  settingsOf(agent: AgentIdentity): SpeakerSettings;
  errors: string[];
}

interface SpeakerRule {
  mac: string | null;
  model: string | null;
  settings: Partial<SpeakerSettings>;
}

const DEFAULT_SETTINGS: SpeakerSettings = { volume: 80, delayMs: 0, zones: [] };
const MAX_DELAY_MS = 1_000;
const MAX_ZONES = 16;
const MAX_SENDERS = 16;

/** Volume of the profile levels; `As-Is` uses the rule's volume. */
const VOLUMES: Readonly<Record<DeliveryProfile["volume"], number | null>> = {
  "As-Is": null,
  Maximum: 100,
  Medium: 60,
  Low: 30,
};

/** Volume of a message on a speaker, 0 to 100. */
export function volumePercent(level: DeliveryProfile["volume"], { volume }: SpeakerSettings): number {
  return VOLUMES[level] ?? volume;
}

/** Normalizes a MAC address to twelve capital hexadecimal digits; null if invalid. */
export function normalizeMac(given: unknown): string | null {
  const mac = typeof given === "string" ? given.replace(/[:.-]/g, "").toUpperCase() : "";
  return /^[0-9A-F]{12}$/.test(mac) ? mac : null;
}

/** Parses `rules`; an invalid rule is reported and skipped. */
export function parseSpeakerRules(given: unknown): SpeakerRules {
  if (!Array.isArray(given)) return { settingsOf: () => DEFAULT_SETTINGS, errors: [sentence("rules-list")] };
  const rules: SpeakerRule[] = [];
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const rule = parseRule(entry);
    if (typeof rule === "string") errors.push(`rules[${index}]: ${rule}`);
    else rules.push(rule);
  });
  return {
    errors,
    settingsOf({ mac, model }) {
      const fit = rules.filter(
        (rule) => (rule.mac === null || rule.mac === mac) && (rule.model === null || rule.model === model),
      );
      return Object.assign({}, DEFAULT_SETTINGS, ...fit.map(({ settings }) => settings)) as SpeakerSettings;
    },
  };
}

function parseRule(entry: unknown): SpeakerRule | string {
  if (typeof entry !== "object" || entry === null) return sentence("rule.object");
  const { mac, model, volume, delayMs, zones } = entry as Record<string, unknown>;
  const address = mac === undefined ? null : normalizeMac(mac);
  if (mac !== undefined && address === null) return sentence("rule.mac");
  if (model !== undefined && typeof model !== "string") return sentence("rule.model");
  if (volume !== undefined && !isWhole(volume, 100)) return sentence("rule.volume");
  if (delayMs !== undefined && !isWhole(delayMs, MAX_DELAY_MS)) return sentence("rule.delay", { limit: MAX_DELAY_MS });
  const listened = zones === undefined ? undefined : parseZones(zones);
  if (typeof listened === "string") return listened;
  const settings: Partial<SpeakerSettings> = {
    ...(volume === undefined ? {} : { volume }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(listened === undefined ? {} : { zones: listened }),
  };
  return { mac: address, model: (model as string | undefined) ?? null, settings };
}

function parseZones(given: unknown): MonitoredZone[] | string {
  if (!Array.isArray(given) || given.length > MAX_ZONES) return sentence("rule.zones", { limit: MAX_ZONES });
  const zones: MonitoredZone[] = [];
  for (const entry of given as unknown[]) {
    const { group, port, priority = 5, senders = [] } = (entry ?? {}) as Record<string, unknown>;
    if (typeof group !== "string" || !isMulticastAddress(group)) return sentence("rule.zone-group");
    if (!isWhole(port, 65_535) || port < 1) return sentence("rule.zone-port");
    if (!isWhole(priority, 9)) return sentence("rule.zone-priority");
    if (!isAddressList(senders)) return sentence("rule.zone-senders", { limit: MAX_SENDERS });
    zones.push({ group, port, priority, senders });
  }
  return zones;
}

function isAddressList(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_SENDERS &&
    value.every((address) => typeof address === "string" && isIP(address) !== 0)
  );
}

function isWhole(value: unknown, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
}
