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
} from "./agent-messages.ts";
import type { AgentTokens, RegisteredAgent } from "./agent-tokens.ts";
import type { SignedRingPlans } from "./signed-ring-plans.ts";
import { normalizeMac, type SpeakerRules } from "./speaker-rules.ts";

/** What answering agents needs. */
export interface AgentApiDeps {
  clock: Clock;
  tokens: AgentTokens;
  connections: AgentConnections;
  rules: SpeakerRules;
  joinSecret: string | null;
  openToAll: boolean;
  report(devices: DeviceReport[]): Promise<void>;
  /** False for a command that nobody waits for any more. */
  isWanted(command: AgentCommand): boolean;
  onEvents(link: AgentConnection, events: readonly AgentEvent[]): void;
  plans: SignedRingPlans;
  rings: Pick<Rings, "sound" | "playedAlone">;
}

/** own choice */
const MAX_AGENTS = 5_000;
const MAX_UNINVITED = 200;
const MAX_REGISTRATIONS_PER_MINUTE = 600;
const MINUTE_MS = 60_000;

/** Answers `POST register` and what lies below `agents/<mac>`; README.md says how. */
export function createAgentApi(needs: AgentApiDeps) {
  const { clock, tokens, connections, rules, plans } = needs;
  let minute = { since: Number.NEGATIVE_INFINITY, count: 0 };
  let uninvited = 0;
  const isRateLimited = (): boolean => {
    const now = clock.monotonicMs();
    if (now - minute.since >= MINUTE_MS) minute = { since: now, count: 0 };
    return ++minute.count > MAX_REGISTRATIONS_PER_MINUTE;
  };

  const handleRegister = async (request: PluginRequest): Promise<PluginResponse> => {
    if (isRateLimited())
      return errorResponse(429, "Too many have registered; ask again in a minute.", { "retry-after": "60" });
    const shown = bearerToken(request);
    const invited = needs.joinSecret !== null && shown !== null && isEqualSecret(shown, needs.joinSecret);
    if (shown !== null && !invited) return errorResponse(401, "The join secret is wrong.");
    if (!invited && !needs.openToAll) return errorResponse(401, "A join secret is needed.");
    const { mac: given, ...agent } = parseRegistration(parseJsonObject(request.body));
    const mac = normalizeMac(given);
    if (mac === null) return errorResponse(400, "mac is no MAC address.");
    if (tokens.find(mac) && !invited)
      return errorResponse(409, "It has a token; to get another it must show the join secret.");
    if (!tokens.find(mac) && tokens.size >= MAX_AGENTS) return errorResponse(507, `There are ${MAX_AGENTS} agents.`);
    if (!invited && ++uninvited > MAX_UNINVITED) return errorResponse(429, "Too many wait to be set up.");
    const deviceIdentifier = `agent:${mac}`;
    const { name, model, version } = agent;
    await needs.report([
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
    const { port, waitMs, events, plan: held } = parsePollRequest(parseJsonObject(request.body));
    const address = request.remoteAddress.replace(/^::ffff:/i, "");
    if (!isIPv4(address)) return errorResponse(400, "Speakers are reached by IPv4 alone.");
    const settings = rules.settingsOf({ mac, model: agent.model });
    const link: AgentConnection = { ...agent, mac, address, port, settings, plan: held };
    // Events come beside the request that is held.
    const commands: AgentCommand[] =
      events.length > 0 ? [] : (await connections.poll(link, waitMs)).filter(needs.isWanted);
    if (events.length > 0) connections.touch(link);
    needs.onEvents(link, events);
    const { volume, zones, delayMs } = settings;
    // The clock may have been set since: an agent reckons with both moments by one clock.
    const sentAt = clock.now();
    const heldMs = clock.monotonicMs() - receivedAt;
    return jsonResponse(200, { receivedAt: sentAt - heldMs, sentAt, commands, settings: { volume, zones, delayMs } });
  };

  const handlePlan = async (
    { headers }: PluginRequest,
    { mac, model }: AuthenticatedAgent,
  ): Promise<PluginResponse> => {
    const found = await plans.planFor(mac, rules.settingsOf({ mac, model }));
    if (!found) return errorResponse(404, "There is no such speaker.");
    const { etag, document } = found;
    if (headers["if-none-match"] === etag) return { status: 304, headers: { etag } };
    return { status: 200, headers: { "content-type": "application/json", etag }, body: document() };
  };

  const handleSound = async ({ url }: PluginRequest, sha256: string): Promise<PluginResponse> => {
    const from = Number(/[?&]from=(\d{1,9})(?:&|$)/.exec(url)?.[1] ?? 0);
    const body = await needs.rings.sound(sha256, from);
    if (!body) return errorResponse(404, "No plan names this sound.");
    return { status: 200, headers: { "content-type": "application/octet-stream" }, body };
  };

  const handlePlayedRings = async ({ body }: PluginRequest, { mac }: AuthenticatedAgent): Promise<PluginResponse> => {
    await needs.rings.playedAlone(`agent:${mac}`, parsePlayedRings(parseJsonObject(body)));
    return { status: 204 };
  };

  const route = async (request: PluginRequest, receivedAt: number): Promise<PluginResponse> => {
    const path = request.url.split("?", 1)[0] ?? "";
    const [, given, what = "", sha256 = ""] =
      /^\/agents\/([\w:.-]{12,17})\/(\w+)(?:\/([0-9a-f]{64}))?$/.exec(path) ?? [];
    const method = path === "/register" ? "POST" : METHODS.get(sha256 === "" ? what : `${what}/`);
    if (method === undefined) return errorResponse(404, "There is no such path.");
    if (request.method !== method) return errorResponse(405, `${method} is taken.`, { allow: method });
    if (given === undefined) return handleRegister(request);
    const mac = normalizeMac(given);
    const agent = mac === null ? null : tokens.verify(mac, bearerToken(request) ?? "");
    if (!agent || mac === null) return errorResponse(401, "The token is wrong.");
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

/** Who asks, with a token that is right. */
type AuthenticatedAgent = RegisteredAgent & { mac: string };

/** What lies below an agent, and how it is asked for. */
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

function errorResponse(status: number, message: string, headers: Record<string, string> = {}): PluginResponse {
  return jsonResponse(status, { status, message }, headers);
}

function jsonResponse(status: number, value: object, headers: Record<string, string> = {}): PluginResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
