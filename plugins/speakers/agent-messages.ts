import { isIP } from "node:net";
import type { OfflineRing } from "#plugin-api";

/** A delivery event from an agent; `at` is epoch ms of the appliance as estimated by the agent. */
export interface AgentEvent {
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed" | "alone";
  deliveryId: number;
  at: number | null;
  words: string;
  /** Match of the microphone's recording with what was played; null if not reported. */
  detection: Detection | null;
}

export interface Detection {
  /** Chance that a recording without the audio matches as well. */
  pValue: number;
  delayMs: number;
  /** Over everything else in the recording, dB. */
  levelDb: number;
}

export interface RegistrationRequest {
  mac: unknown;
  model: string;
  version: string;
  name: string;
  selfTest: boolean;
  /** It plays encrypted streams, and of zones only announced ones. */
  srtp: boolean;
}

/** Packets that an agent did not play, because nothing announced them. */
export interface StrangerReport {
  /** `zone` is `group:port`; null for the agent's own port. */
  senders: { address: string; zone: string | null; packets: number }[];
}

/** Status of an agent's ring plan; epoch ms of the appliance as estimated by the agent. */
export interface RingPlanStatus {
  /** Null without a plan. */
  until: number | null;
  /** When plan and sounds were last up to date; null if never. */
  inOrderAt: number | null;
}

/** A long poll. */
export interface PollRequest {
  /** RTP port of the agent. */
  port: number;
  waitMs: number;
  events: AgentEvent[];
  /** Null if the agent does not support plans. */
  plan: RingPlanStatus | null;
  /** False for agents of an earlier version. */
  srtp: boolean;
  strangers: StrangerReport;
}

/** Maximum wait time of a long poll: the host ends requests after 10 s. */
const MAX_WAIT_MS = 8_000;
const MAX_EVENTS = 256;
const MAX_RINGS = 500;
const MAX_STRANGERS = 8;
const MAX_PACKETS = 1_000_000_000;
/** Range of Date. @source ECMA-262, Time Values */
const MAX_TIME = 8.64e15;
const EVENT_KINDS: readonly unknown[] = ["accepted", "started", "heard", "unheard", "ended", "failed", "alone"];

/** Parses a JSON object; throws RangeError for anything else. */
export function parseJsonObject(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Reported below.
  }
  throw new RangeError("the body must be a JSON object");
}

/** Parses a registration; missing members are empty. */
export function parseRegistration(members: Record<string, unknown>): RegistrationRequest {
  const { mac, capabilities } = members;
  const { selfTest, srtp } = (capabilities ?? {}) as Record<string, unknown>;
  return {
    mac,
    model: parseText(members.model, 60) || "agent",
    version: parseText(members.version, 60),
    name: parseText(members.name, 100),
    selfTest: selfTest === true,
    srtp: srtp === true,
  };
}

/** Parses a long poll; throws RangeError for an invalid port. Invalid events are dropped. */
export function parsePollRequest(members: Record<string, unknown>): PollRequest {
  const { port, waitMs, events, plan, srtp, strangers } = members;
  if (!isWhole(port) || port < 1 || port > 65_535) throw new RangeError("port must be between 1 and 65535");
  const listed: unknown[] = Array.isArray(events) ? events.slice(0, MAX_EVENTS) : [];
  return {
    port,
    waitMs: isWhole(waitMs) ? Math.min(MAX_WAIT_MS, Math.max(0, waitMs)) : 0,
    events: listed.flatMap((event) => parseEvent(event) ?? []),
    plan: parseRingPlanStatus(plan),
    srtp: srtp === true,
    strangers: parseStrangers(strangers),
  };
}

/** Invalid entries are dropped. */
function parseStrangers(given: unknown): StrangerReport {
  const { senders } = (given ?? {}) as Record<string, unknown>;
  const listed: unknown[] = Array.isArray(senders) ? senders.slice(0, MAX_STRANGERS) : [];
  return {
    senders: listed.flatMap((entry) => {
      const { address, zone, packets } = (entry ?? {}) as Record<string, unknown>;
      if (typeof address !== "string" || isIP(address) === 0 || !isWhole(packets) || packets < 1) return [];
      return [{ address, zone: parseText(zone, 60) || null, packets: Math.min(packets, MAX_PACKETS) }];
    }),
  };
}

function parseRingPlanStatus(given: unknown): RingPlanStatus | null {
  if (typeof given !== "object" || given === null) return null;
  const { until, inOrderAt } = given as Record<string, unknown>;
  return { until: parseTime(until), inOrderAt: parseTime(inOrderAt) };
}

/** Null outside the range of Date. */
function parseTime(value: unknown): number | null {
  return isWhole(value) && Math.abs(value) <= MAX_TIME ? value : null;
}

/** Parses offline rings; throws RangeError if invalid. */
export function parsePlayedRings({ rings }: Record<string, unknown>): OfflineRing[] {
  if (!Array.isArray(rings) || rings.length > MAX_RINGS)
    throw new RangeError(`rings must be a list of at most ${MAX_RINGS}`);
  return rings.map((given: unknown) => {
    const { ringId, at } = (given ?? {}) as Record<string, unknown>;
    if (typeof ringId !== "string" || !isWhole(at)) throw new RangeError("each ring must have ringId and at");
    return { ringId, at };
  });
}

function parseEvent(given: unknown): AgentEvent | null {
  const { kind, deliveryId, at, words, detection } = (given ?? {}) as Record<string, unknown>;
  if (!EVENT_KINDS.includes(kind) || !isWhole(deliveryId)) return null;
  const when = typeof at === "number" && Number.isFinite(at) ? at : null;
  return {
    ...{ kind: kind as AgentEvent["kind"], deliveryId, at: when },
    ...{ words: parseText(words, 200), detection: parseDetection(detection) },
  };
}

function parseDetection(given: unknown): Detection | null {
  const { pValue, delayMs, levelDb } = (given ?? {}) as Record<string, unknown>;
  if (![pValue, delayMs, levelDb].every(Number.isFinite) || !((pValue as number) >= 0 && (pValue as number) <= 1))
    return null;
  return { pValue, delayMs, levelDb } as Detection;
}

function parseText(value: unknown, maxLength: number): string {
  return typeof value === "string"
    ? value
        .replace(/\p{Cc}/gu, " ")
        .trim()
        .slice(0, maxLength)
    : "";
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}
