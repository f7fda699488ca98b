import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Clock, DeviceReport, PluginRequest, PluginResponse, Rings } from "#plugin-api";
import type { AgentCommand, AgentConnection, AgentConnections } from "./agent-connections.ts";
import {
  type AgentEvent,
  parseJsonObject,
  parsePlayedRings,
  parsePollRequest,
  parseRegistration,
  type StrangerReport,
} from "./agent-messages.ts";
import type { AgentTokens, RegisteredAgent } from "./agent-tokens.ts";
import type { RegistrationLimits } from "./registration-limits.ts";
import type { SignedRingPlans } from "./signed-ring-plans.ts";
import { normalizeMac, type SpeakerRules } from "./speaker-rules.ts";
import type { ZoneStreams } from "./zone-streams.ts";

export interface AgentApiDeps {
  clock: Clock;
  tokens: AgentTokens;
  connections: AgentConnections;
  rules: SpeakerRules;
  limits: RegistrationLimits;
  streams: Pick<ZoneStreams, "of">;
  joinSecret: string | null;
  openToAll: boolean;
  report(devices: DeviceReport[]): Promise<void>;
  /** False for an obsolete command. */
  isWanted(command: AgentCommand): boolean;
  onEvents(link: AgentConnection, events: readonly AgentEvent[]): void;
  onStrangers(mac: string, report: StrangerReport): void;
  /** A registration with a wrong join secret. */
  onWrongSecret(address: string): void;
  plans: SignedRingPlans;
  rings: Pick<Rings, "sound" | "playedAlone">;
}

/** Limits of registered agents, of those without a join secret, and of rate-limited ones. */
const MAX_AGENTS = 5_000;
const MAX_UNINVITED_AGENTS = 4_000;

/** Handles `POST register` and requests below `agents/<mac>`; the protocol is in README.md. */
export function createAgentApi(deps: AgentApiDeps) {
  const { clock, tokens, connections, rules, plans } = deps;
  const { limits } = deps;

  const handleRegister = async (request: PluginRequest): Promise<PluginResponse> => {
    const bearer = bearerToken(request);
    const invited = deps.joinSecret !== null && bearer !== null && isEqualSecret(bearer, deps.joinSecret);
    const address = request.remoteAddress;
    if (bearer !== null && !invited) {
      deps.onWrongSecret(address);
      return tooManyResponse(limits.takeWrongSecret(address)) ?? errorResponse(401, "Invalid join secret.");
    }
    if (!invited && !deps.openToAll) return errorResponse(401, "A join secret is required.");
    const refusal = tooManyResponse(invited ? limits.takeInvited() : limits.takeUninvited(address));
    if (refusal) return refusal;
    const { mac: given, ...agent } = parseRegistration(parseJsonObject(request.body));
    const mac = normalizeMac(given);
    if (mac === null) return errorResponse(400, "mac must be a MAC address.");
    if (tokens.find(mac) && !invited)
      return errorResponse(409, "The agent already has a token. A new token requires the join secret.");
    const limit = invited ? MAX_AGENTS : MAX_UNINVITED_AGENTS;
    if (!tokens.find(mac) && tokens.size >= limit)
      return errorResponse(507, `The limit of ${limit} agents is reached.`);
    const deviceIdentifier = `agent:${mac}`;
    const { name, model, version } = agent;
    await deps.report([
      {
        ...{ deviceIdentifier, type: "speakers", description: name },
        attributes: { MACAddress: mac, Model: model, Version: version, IsConfigured: String(invited) },
      },
    ]);
    const token = await tokens.issue(mac, agent);
    return jsonResponse(201, { deviceIdentifier, token, configured: invited, planKey: plans.publicKey });
  };

  const handlePoll = async (
    request: PluginRequest,
    { mac, ...agent }: AuthenticatedAgent,
    receivedAt: number,
  ): Promise<PluginResponse> => {
    const polled = parsePollRequest(parseJsonObject(request.body));
    const { port, waitMs, events, plan: currentPlan, srtp, strangers } = polled;
    const address = request.remoteAddress.replace(/^::ffff:/i, "");
    if (!isIPv4(address)) return errorResponse(400, "Agents must connect over IPv4.");
    const settings = rules.settingsOf({ mac, model: agent.model });
    const link: AgentConnection = { ...agent, mac, address, port, settings, plan: currentPlan, srtp };
    if (srtp !== agent.srtp) await tokens.setSrtp(mac, srtp);
    if (strangers.senders.length > 0) deps.onStrangers(mac, strangers);
    // Events arrive on a second request, in parallel to the long poll.
    const commands: AgentCommand[] =
      events.length > 0 ? [] : (await connections.poll(link, waitMs)).filter(deps.isWanted);
    if (events.length > 0) connections.touch(link);
    deps.onEvents(link, events);
    const { volume, delayMs } = settings;
    const zones = settings.zones.map((zone) => ({ ...zone, streams: deps.streams.of(zone) }));
    // The wall clock may have been set since; both timestamps must be by the same clock.
    const sentAt = clock.now();
    const heldMs = clock.monotonicMs() - receivedAt;
    return jsonResponse(200, { receivedAt: sentAt - heldMs, sentAt, commands, settings: { volume, zones, delayMs } });
  };

  const handlePlan = async (
    { headers }: PluginRequest,
    { mac, model }: AuthenticatedAgent,
  ): Promise<PluginResponse> => {
    const found = await plans.planFor(mac, rules.settingsOf({ mac, model }));
    if (!found) return errorResponse(404, "Speaker not found.");
    const { etag, document } = found;
    if (headers["if-none-match"] === etag) return { status: 304, headers: { etag } };
    return { status: 200, headers: { "content-type": "application/json", etag }, body: document() };
  };

  const handleSound = async ({ url }: PluginRequest, sha256: string): Promise<PluginResponse> => {
    const from = Number(/[?&]from=(\d{1,9})(?:&|$)/.exec(url)?.[1] ?? 0);
    const body = await deps.rings.sound(sha256, from);
    if (!body) return errorResponse(404, "Sound not found in any plan.");
    return { status: 200, headers: { "content-type": "application/octet-stream" }, body };
  };

  const handlePlayedRings = async ({ body }: PluginRequest, { mac }: AuthenticatedAgent): Promise<PluginResponse> => {
    await deps.rings.playedAlone(`agent:${mac}`, parsePlayedRings(parseJsonObject(body)));
    return { status: 204 };
  };

  const route = async (request: PluginRequest, receivedAt: number): Promise<PluginResponse> => {
    const path = request.url.split("?", 1)[0] ?? "";
    const [, given, what = "", sha256 = ""] =
      /^\/agents\/([\w:.-]{12,17})\/(\w+)(?:\/([0-9a-f]{64}))?$/.exec(path) ?? [];
    const method = path === "/register" ? "POST" : METHODS.get(sha256 === "" ? what : `${what}/`);
    if (method === undefined) return errorResponse(404, "Path not found.");
    if (request.method !== method) return errorResponse(405, `The method must be ${method}.`, { allow: method });
    if (given === undefined) return handleRegister(request);
    const mac = normalizeMac(given);
    const agent = mac === null ? null : tokens.verify(mac, bearerToken(request) ?? "");
    if (!agent || mac === null) return errorResponse(401, "Invalid token.");
    const caller = { ...agent, mac };
    if (what === "beat") return handlePoll(request, caller, receivedAt);
    if (what === "plan") return handlePlan(request, caller);
    return what === "rang" ? handlePlayedRings(request, caller) : handleSound(request, sha256);
  };

  return async (request: PluginRequest): Promise<PluginResponse> => {
    const receivedAt = clock.monotonicMs();
    try {
      return await route(request, receivedAt);
    } catch (error) {
      if (error instanceof RangeError) return errorResponse(400, `${error.message}.`);
      throw error;
    }
  };
}

/** An agent with a valid token. */
type AuthenticatedAgent = RegisteredAgent & { mac: string };

/** Methods of the paths below an agent. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ["beat", "POST"],
  ["plan", "GET"],
  ["sounds/", "GET"],
  ["rang", "POST"],
]);

function bearerToken({ headers }: PluginRequest): string | null {
  return /^Bearer +(.+)$/i.exec(String(headers.authorization ?? ""))?.[1] ?? null;
}

function isEqualSecret(given: string, expected: string): boolean {
  return timingSafeEqual(sha256Of(given), sha256Of(expected));
}

function sha256Of(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Null if nothing is to wait for. */
function tooManyResponse(waitMs: number): PluginResponse | null {
  if (waitMs <= 0) return null;
  const seconds = Math.ceil(waitMs / 1_000);
  return errorResponse(429, `Too many registrations. Retry in ${seconds} s.`, { "retry-after": String(seconds) });
}

function errorResponse(status: number, message: string, headers: Record<string, string> = {}): PluginResponse {
  return jsonResponse(status, { status, message }, headers);
}

function jsonResponse(status: number, value: object, headers: Record<string, string> = {}): PluginResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
