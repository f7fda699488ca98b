import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Clock, DeviceReport, PluginRequest, PluginResponse } from "#plugin-api";
import type { AgentLink, Command, Links } from "./links.ts";
import { macOf, type Rules } from "./rules.ts";
import { type AgentEvent, membersOf, readBeat, readRegistration } from "./said.ts";
import type { Tokens } from "./tokens.ts";

/** What answering agents needs. */
export interface DoorNeeds {
  clock: Clock;
  tokens: Tokens;
  links: Links;
  rules: Rules;
  joinSecret: string | null;
  openToAll: boolean;
  report(devices: DeviceReport[]): Promise<void>;
  /** False for a command that nobody waits for any more. */
  isWanted(command: Command): boolean;
  onEvents(link: AgentLink, events: readonly AgentEvent[]): void;
}

/** own choice */
const MOST_AGENTS = 5_000;
const MOST_UNASKED = 200;
const PER_MINUTE = 600;
const MINUTE_MS = 60_000;

/** Answers `POST register` and `POST agents/<mac>/beat`; README.md says how. */
export function createDoor(needs: DoorNeeds) {
  const { clock, tokens, links, rules } = needs;
  let minute = { since: Number.NEGATIVE_INFINITY, count: 0 };
  let unasked = 0;
  const tooMany = (): boolean => {
    const now = clock.monotonicMs();
    if (now - minute.since >= MINUTE_MS) minute = { since: now, count: 0 };
    return ++minute.count > PER_MINUTE;
  };

  const register = async (request: PluginRequest): Promise<PluginResponse> => {
    if (tooMany()) return problem(429, "Too many have registered; ask again in a minute.", { "retry-after": "60" });
    const shown = bearerOf(request);
    const invited = needs.joinSecret !== null && shown !== null && isSame(shown, needs.joinSecret);
    if (shown !== null && !invited) return problem(401, "The join secret is wrong.");
    if (!invited && !needs.openToAll) return problem(401, "A join secret is needed.");
    const { mac: given, ...agent } = readRegistration(membersOf(request.body));
    const mac = macOf(given);
    if (mac === null) return problem(400, "mac is no MAC address.");
    if (tokens.agentOf(mac) && !invited)
      return problem(409, "It has a token; to get another it must show the join secret.");
    if (!tokens.agentOf(mac) && tokens.size >= MOST_AGENTS) return problem(507, `There are ${MOST_AGENTS} agents.`);
    if (!invited && ++unasked > MOST_UNASKED) return problem(429, "Too many wait to be set up.");
    const deviceIdentifier = `agent:${mac}`;
    const { name, model, version } = agent;
    await needs.report([
      {
        ...{ deviceIdentifier, type: "speakers", description: name },
        attributes: { MACAddress: mac, Model: model, Version: version, IsConfigured: String(invited) },
      },
    ]);
    const token = await tokens.issue(mac, agent);
    return json(201, { deviceIdentifier, token, configured: invited });
  };

  const beat = async (request: PluginRequest, given: string, receivedAt: number): Promise<PluginResponse> => {
    const mac = macOf(given);
    const agent = mac === null ? null : tokens.check(mac, bearerOf(request) ?? "");
    if (!agent || mac === null) return problem(401, "The token is wrong.");
    const { port, waitMs, events } = readBeat(membersOf(request.body));
    const address = request.remoteAddress.replace(/^::ffff:/i, "");
    if (!isIPv4(address)) return problem(400, "Speakers are reached by IPv4 alone.");
    const settings = rules.settingsOf({ mac, model: agent.model });
    const link: AgentLink = { ...agent, mac, address, port, settings };
    // Events come beside the request that is held.
    const commands: Command[] = events.length > 0 ? [] : (await links.ask(link, waitMs)).filter(needs.isWanted);
    if (events.length > 0) links.seen(link);
    needs.onEvents(link, events);
    const { volume, zones, delayMs } = settings;
    return json(200, { receivedAt, sentAt: clock.now(), commands, settings: { volume, zones, delayMs } });
  };

  return async (request: PluginRequest): Promise<PluginResponse> => {
    const receivedAt = clock.now();
    const path = request.url.split("?", 1)[0] ?? "";
    const [, mac] = /^\/agents\/([\w:.-]{12,17})\/beat$/.exec(path) ?? [];
    if (path !== "/register" && mac === undefined) return problem(404, "There is no such path.");
    if (request.method !== "POST") return problem(405, "POST is taken.", { allow: "POST" });
    try {
      return mac === undefined ? await register(request) : await beat(request, mac, receivedAt);
    } catch (error) {
      if (error instanceof RangeError) return problem(400, `${error.message}.`);
      throw error;
    }
  };
}

function bearerOf({ headers }: PluginRequest): string | null {
  return /^Bearer +(.+)$/i.exec(String(headers.authorization ?? ""))?.[1] ?? null;
}

function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hashOf(given), hashOf(expected));
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function problem(status: number, message: string, headers: Record<string, string> = {}): PluginResponse {
  return json(status, { status, message }, headers);
}

function json(status: number, value: object, headers: Record<string, string> = {}): PluginResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
