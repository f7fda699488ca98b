import { isIPv4 } from "node:net";
import type { DeliveryProfile } from "#plugin-api";

/** A multicast group that a speaker listens to besides what it is told; 0 is the most urgent priority. */
export interface MonitoredZone {
  group: string;
  port: number;
  priority: number;
}

/** How one speaker sounds. */
export interface SpeakerSettings {
  /** 0 to 100; what it is between messages. */
  volume: number;
  /** Held back so long, so that it sounds together with slower ones. */
  delayMs: number;
  zones: readonly MonitoredZone[];
}

/** Whose settings are asked for. */
export interface AgentIdentity {
  mac: string;
  model: string;
}

/** Settings for everybody, by the rules that fit; and what of the rules can't be used, in words. */
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

/** own choice: the profile's words have no numbers; `As-Is` is what the rules say of the speaker. */
const VOLUMES: Readonly<Record<DeliveryProfile["volume"], number | null>> = {
  "As-Is": null,
  Maximum: 100,
  Medium: 60,
  Low: 30,
};

/** The volume of a message on a speaker, 0 to 100. */
export function volumePercent(word: DeliveryProfile["volume"], { volume }: SpeakerSettings): number {
  return VOLUMES[word] ?? volume;
}

/** A MAC address as it is written here: twelve capitals; null for none. */
export function normalizeMac(given: unknown): string | null {
  const mac = typeof given === "string" ? given.replace(/[:.-]/g, "").toUpperCase() : "";
  return /^[0-9A-F]{12}$/.test(mac) ? mac : null;
}

/** Reads the configuration's `rules`; a bad one is left out and named, the others hold. */
export function parseSpeakerRules(given: unknown): SpeakerRules {
  if (!Array.isArray(given)) return { settingsOf: () => DEFAULT_SETTINGS, errors: ["rules is not a list"] };
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
  if (typeof entry !== "object" || entry === null) return "it is no object";
  const { mac, model, volume, delayMs, zones } = entry as Record<string, unknown>;
  const address = mac === undefined ? null : normalizeMac(mac);
  if (mac !== undefined && address === null) return "mac is no MAC address";
  if (model !== undefined && typeof model !== "string") return "model is a text";
  if (volume !== undefined && !isWhole(volume, 100)) return "volume is a number from 0 to 100";
  if (delayMs !== undefined && !isWhole(delayMs, MAX_DELAY_MS)) return `delayMs is 0 to ${MAX_DELAY_MS}`;
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
  if (!Array.isArray(given) || given.length > MAX_ZONES) return `zones is a list of at most ${MAX_ZONES}`;
  const zones: MonitoredZone[] = [];
  for (const entry of given as unknown[]) {
    const { group, port, priority = 5 } = (entry ?? {}) as Record<string, unknown>;
    if (typeof group !== "string" || !isIPv4(group) || !/^2(2[4-9]|3\d)\./.test(group))
      return "the group of a zone is an IPv4 multicast address";
    if (!isWhole(port, 65_535) || port < 1) return "the port of a zone is 1 to 65535";
    if (!isWhole(priority, 9)) return "the priority of a zone is 0 to 9";
    zones.push({ group, port, priority });
  }
  return zones;
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most;
}
