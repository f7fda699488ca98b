import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Clock, DeviceReport, PluginRequest, PluginResponse, Rings } from "#plugin-api";
import type { AgentLink, Command, Links } from "./links.ts";
import type { Plans } from "./plans.ts";
import { macOf, type Rules } from "./rules.ts";
import { type AgentEvent, membersOf, readBeat, readRang, readRegistration } from "./said.ts";
import type { KnownAgent, Tokens } from "./tokens.ts";

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
  plans: Plans;
  rings: Pick<Rings, "sound" | "playedAlone">;
}

/** own choice */
const MOST_AGENTS = 5_000;
const MOST_UNASKED = 200;
const PER_MINUTE = 600;
const MINUTE_MS = 60_000;

/** Answers `POST register` and what lies below `agents/<mac>`; README.md says how. */
export function createDoor(needs: DoorNeeds) {
  const { clock, tokens, links, rules, plans } = needs;
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
    return json(201, { deviceIdentifier, token, configured: invited, planKey: plans.publicKey });
  };

  const beat = async (
    request: PluginRequest,
    { mac, ...agent }: Caller,
    receivedAt: number,
  ): Promise<PluginResponse> => {
    const { port, waitMs, events, plan: held } = readBeat(membersOf(request.body));
    const address = request.remoteAddress.replace(/^::ffff:/i, "");
    if (!isIPv4(address)) return problem(400, "Speakers are reached by IPv4 alone.");
    const settings = rules.settingsOf({ mac, model: agent.model });
    const link: AgentLink = { ...agent, mac, address, port, settings, plan: held };
    // Events come beside the request that is held.
    const commands: Command[] = events.length > 0 ? [] : (await links.ask(link, waitMs)).filter(needs.isWanted);
    if (events.length > 0) links.seen(link);
    needs.onEvents(link, events);
    const { volume, zones, delayMs } = settings;
    // The clock may have been set since: an agent reckons with both moments by one clock.
    const sentAt = clock.now();
    const heldMs = clock.monotonicMs() - receivedAt;
    return json(200, { receivedAt: sentAt - heldMs, sentAt, commands, settings: { volume, zones, delayMs } });
  };

  const plan = async ({ headers }: PluginRequest, { mac, model }: Caller): Promise<PluginResponse> => {
    const found = await plans.of(mac, rules.settingsOf({ mac, model }));
    if (!found) return problem(404, "There is no such speaker.");
    const { etag, document } = found;
    if (headers["if-none-match"] === etag) return { status: 304, headers: { etag } };
    return { status: 200, headers: { "content-type": "application/json", etag }, body: document() };
  };

  const sound = async ({ url }: PluginRequest, sha256: string): Promise<PluginResponse> => {
    const from = Number(/[?&]from=(\d{1,9})(?:&|$)/.exec(url)?.[1] ?? 0);
    const body = await needs.rings.sound(sha256, from);
    if (!body) return problem(404, "No plan names this sound.");
    return { status: 200, headers: { "content-type": "application/octet-stream" }, body };
  };

  const rang = async ({ body }: PluginRequest, { mac }: Caller): Promise<PluginResponse> => {
    await needs.rings.playedAlone(`agent:${mac}`, readRang(membersOf(body)));
    return { status: 204 };
  };

  const answer = async (request: PluginRequest, receivedAt: number): Promise<PluginResponse> => {
    const path = request.url.split("?", 1)[0] ?? "";
    const [, given, what = "", sha256 = ""] =
      /^\/agents\/([\w:.-]{12,17})\/(\w+)(?:\/([0-9a-f]{64}))?$/.exec(path) ?? [];
    const method = path === "/register" ? "POST" : METHODS.get(sha256 === "" ? what : `${what}/`);
    if (method === undefined) return problem(404, "There is no such path.");
    if (request.method !== method) return problem(405, `${method} is taken.`, { allow: method });
    if (given === undefined) return register(request);
    const mac = macOf(given);
    const agent = mac === null ? null : tokens.check(mac, bearerOf(request) ?? "");
    if (!agent || mac === null) return problem(401, "The token is wrong.");
    const caller = { ...agent, mac };
    if (what === "beat") return beat(request, caller, receivedAt);
    if (what === "plan") return plan(request, caller);
    return what === "rang" ? rang(request, caller) : sound(request, sha256);
  };

  return async (request: PluginRequest): Promise<PluginResponse> => {
    const receivedAt = clock.monotonicMs();
    try {
      return await answer(request, receivedAt);
    } catch (error) {
      if (error instanceof RangeError) return problem(400, `${error.message}.`);
      throw error;
    }
  };
}

/** Who asks, with a token that is right. */
type Caller = KnownAgent & { mac: string };

/** What lies below an agent, and how it is asked for. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ["beat", "POST"],
  ["plan", "GET"],
  ["sounds/", "GET"],
  ["rang", "POST"],
]);

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
