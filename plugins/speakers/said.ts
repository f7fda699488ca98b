/** What an agent says of a delivery; `at` is epoch ms of the appliance's clock, as the agent reckons it. */
export interface AgentEvent {
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed";
  deliveryId: number;
  at: number | null;
  words: string;
}

/** A registration. */
export interface Registration {
  mac: unknown;
  model: string;
  version: string;
  name: string;
  selfTest: boolean;
}

/** A request for commands. */
export interface Beat {
  /** Port that it takes sound at. */
  port: number;
  waitMs: number;
  events: AgentEvent[];
}

/** Longest time that a request is held: the host ends it after 10 s. */
const LONGEST_WAIT_MS = 8_000;
const MOST_EVENTS = 256;
const KINDS: readonly unknown[] = ["accepted", "started", "heard", "unheard", "ended", "failed"];

/** The members of a body; throws RangeError, in words, for what is no JSON object. */
export function membersOf(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below.
  }
  throw new RangeError("the body is no JSON object");
}

/** Reads a registration; what is missing is empty. */
export function readRegistration(members: Record<string, unknown>): Registration {
  const { mac, capabilities } = members;
  const { selfTest } = (capabilities ?? {}) as Record<string, unknown>;
  return {
    mac,
    model: textIn(members.model, 60) || "agent",
    version: textIn(members.version, 60),
    name: textIn(members.name, 100),
    selfTest: selfTest === true,
  };
}

/** Reads a request for commands; throws RangeError for a port that is none. Events that are none are left out. */
export function readBeat({ port, waitMs, events }: Record<string, unknown>): Beat {
  if (!isWhole(port) || port < 1 || port > 65_535) throw new RangeError("port is 1 to 65535");
  const listed: unknown[] = Array.isArray(events) ? events.slice(0, MOST_EVENTS) : [];
  return {
    port,
    waitMs: isWhole(waitMs) ? Math.min(LONGEST_WAIT_MS, Math.max(0, waitMs)) : 0,
    events: listed.flatMap((event) => readEvent(event) ?? []),
  };
}

function readEvent(given: unknown): AgentEvent | null {
  const { kind, deliveryId, at, words } = (given ?? {}) as Record<string, unknown>;
  if (!KINDS.includes(kind) || !isWhole(deliveryId)) return null;
  const when = typeof at === "number" && Number.isFinite(at) ? at : null;
  return { kind: kind as AgentEvent["kind"], deliveryId, at: when, words: textIn(words, 200) };
}

function textIn(value: unknown, most: number): string {
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
