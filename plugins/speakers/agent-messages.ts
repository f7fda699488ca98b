import type { OfflineRing } from "#plugin-api";

/** What an agent says of a delivery; `at` is epoch ms of the appliance's clock, as the agent reckons it. */
export interface AgentEvent {
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed" | "alone";
  deliveryId: number;
  at: number | null;
  words: string;
}

/** A registration. */
export interface RegistrationRequest {
  mac: unknown;
  model: string;
  version: string;
  name: string;
  selfTest: boolean;
}

/** How an agent stands with its plan of rings; epoch ms of the appliance's clock, as the agent reckons it. */
export interface RingPlanStatus {
  /** Null while it has none. */
  until: number | null;
  /** When it last had what the appliance has, with all sounds; null when never. */
  inOrderAt: number | null;
}

/** A request for commands. */
export interface PollRequest {
  /** Port that it takes sound at. */
  port: number;
  waitMs: number;
  events: AgentEvent[];
  /** Null for one that does not follow plans. */
  plan: RingPlanStatus | null;
}

/** Longest time that a request is held: the host ends it after 10 s. */
const MAX_WAIT_MS = 8_000;
const MAX_EVENTS = 256;
const MAX_RINGS = 500;
/** @source ECMA-262, Time Values */
const MAX_TIME = 8.64e15;
const EVENT_KINDS: readonly unknown[] = ["accepted", "started", "heard", "unheard", "ended", "failed", "alone"];

/** The members of a body; throws RangeError, in words, for what is no JSON object. */
export function parseJsonObject(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below.
  }
  throw new RangeError("the body is no JSON object");
}

/** Reads a registration; what is missing is empty. */
export function parseRegistration(members: Record<string, unknown>): RegistrationRequest {
  const { mac, capabilities } = members;
  const { selfTest } = (capabilities ?? {}) as Record<string, unknown>;
  return {
    mac,
    model: parseText(members.model, 60) || "agent",
    version: parseText(members.version, 60),
    name: parseText(members.name, 100),
    selfTest: selfTest === true,
  };
}

/** Reads a request for commands; throws RangeError for a port that is none. Events that are none are left out. */
export function parsePollRequest({ port, waitMs, events, plan }: Record<string, unknown>): PollRequest {
  if (!isWhole(port) || port < 1 || port > 65_535) throw new RangeError("port is 1 to 65535");
  const listed: unknown[] = Array.isArray(events) ? events.slice(0, MAX_EVENTS) : [];
  return {
    port,
    waitMs: isWhole(waitMs) ? Math.min(MAX_WAIT_MS, Math.max(0, waitMs)) : 0,
    events: listed.flatMap((event) => parseEvent(event) ?? []),
    plan: parseRingPlanStatus(plan),
  };
}

function parseRingPlanStatus(given: unknown): RingPlanStatus | null {
  if (typeof given !== "object" || given === null) return null;
  const { until, inOrderAt } = given as Record<string, unknown>;
  return { until: parseTime(until), inOrderAt: parseTime(inOrderAt) };
}

/** Null for what no date can hold. */
function parseTime(value: unknown): number | null {
  return isWhole(value) && Math.abs(value) <= MAX_TIME ? value : null;
}

/** Reads rings that an agent has played alone; throws RangeError for what is none. */
export function parsePlayedRings({ rings }: Record<string, unknown>): OfflineRing[] {
  if (!Array.isArray(rings) || rings.length > MAX_RINGS)
    throw new RangeError(`rings is a list of at most ${MAX_RINGS}`);
  return rings.map((given: unknown) => {
    const { ringId, at } = (given ?? {}) as Record<string, unknown>;
    if (typeof ringId !== "string" || !isWhole(at)) throw new RangeError("a ring has ringId and at");
    return { ringId, at };
  });
}

function parseEvent(given: unknown): AgentEvent | null {
  const { kind, deliveryId, at, words } = (given ?? {}) as Record<string, unknown>;
  if (!EVENT_KINDS.includes(kind) || !isWhole(deliveryId)) return null;
  const when = typeof at === "number" && Number.isFinite(at) ? at : null;
  return { kind: kind as AgentEvent["kind"], deliveryId, at: when, words: parseText(words, 200) };
}

function parseText(value: unknown, most: number): string {
  return typeof value === "string"
    ? value
        .replace(/\p{Cc}/gu, " ")
        .trim()
        .slice(0, most)
    : "";
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}
