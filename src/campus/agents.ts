import { type Clock, sleep } from "../base/clock.ts";
import { invalidValue, UpstreamError } from "../base/errors.ts";
import { describeHeard, type Heard, type Listening, NOTHING_HEARD, newHeardCache } from "./heard.ts";
import { checkHttpUrl } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Programme } from "./programme.ts";
import type { Sources } from "./sources.ts";

/** What one speaker with an agent did and heard; times in ms of the campus's clock. */
export interface AgentReport extends Heard {
  deviceIdentifier: string;
  /** When its newest sound began, as it told the appliance. */
  startedAt: number | null;
  /** Orders to play. */
  plays: number;
  errors: string[];
}

/** Simulated speakers that register at an appliance and ask for commands. @source plugins/speakers/README.md, Protocol */
export interface Agents {
  /** Starts some; those with `mute` take everything and never say that they play. Throws CallerError. */
  start(order: Record<string, unknown>): undefined;
  reports(programme: Programme | null): AgentReport[];
}

/** What agents need. */
export interface AgentsNeeds {
  clock: Clock;
  signal: AbortSignal;
  /** Wall time in ms. */
  at(): number;
  sources: Sources;
  outgoing: Outgoing;
}

interface Agent {
  readonly mac: string;
  readonly address: string;
  readonly mute: boolean;
  token: string;
  listening: Listening | null;
  startedAt: number | null;
  plays: number;
  errors: string[];
}

interface Play {
  kind: string;
  deliveryId: number;
  ssrc: number;
  delayMs: number;
}

type Event = { kind: string; deliveryId: number; at?: number };

const MOST_AGENTS = 5_000;
/** own choice: each has an address of its own, so that all may have one port. */
const PORT = 6_004;
/** What a speaker of this kind holds back against packets that are late. */
const BUFFER_MS = 60;
const WAIT_MS = 8_000;
const PATIENCE_MS = 5_000;
const LOOK_MS = 20;
/** It hears itself after so many packets, and is over when none came for so long. */
const HEARD_PACKETS = 25;
const SILENCE_MS = 1_000;
const MOST_BYTES = 65_536;

/** Makes the campus's agents, none as yet. */
export function createAgents(needs: AgentsNeeds): Agents {
  const agents: Agent[] = [];
  return {
    start({ url, joinSecret, count = 1, mute = false }) {
      const server = checkHttpUrl("url", url).replace(/\/+$/, "");
      if (!Number.isInteger(count) || (count as number) < 1 || agents.length + (count as number) > MOST_AGENTS)
        throw invalidValue("count", `Use 1 to ${MOST_AGENTS}.`);
      for (let n = 0; n < (count as number); n++) {
        const agent = newAgent(agents.length, mute === true);
        agents.push(agent);
        void run(agent, server, String(joinSecret ?? ""), needs);
      }
    },
    reports(programme) {
      const cache = newHeardCache();
      return agents.map(({ mac, listening, startedAt, plays, errors }, listener) => {
        const loss = { share: 0, seed: 0, listener };
        const heard = listening ? describeHeard(listening, loss, programme, cache) : NOTHING_HEARD;
        return { deviceIdentifier: `agent:${mac}`, ...heard, startedAt, plays, errors };
      });
    },
  };
}

function newAgent(index: number, mute: boolean): Agent {
  return {
    mac: `02CB${index.toString(16).toUpperCase().padStart(8, "0")}`,
    address: `127.80.${Math.floor(index / 250)}.${1 + (index % 250)}`,
    ...{ mute, token: "", listening: null, startedAt: null, plays: 0, errors: [] },
  };
}

async function run(agent: Agent, server: string, joinSecret: string, needs: AgentsNeeds): Promise<void> {
  const post = async (path: string, bearer: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` };
    const more = { timeoutMs: WAIT_MS + PATIENCE_MS, maxBytes: MOST_BYTES, form: JSON.stringify(body) };
    const url = `${server}/x/speakers${path}`;
    const { status, body: answer } = await needs.outgoing.get({ url, localAddress: agent.address, headers, ...more });
    if (status >= 300) throw new UpstreamError("upstream", `${path}: ${status}`);
    return JSON.parse(answer.toString("utf8")) as Record<string, unknown>;
  };
  const beat = (more: object): Promise<Record<string, unknown>> =>
    post(`/agents/${agent.mac}/beat`, agent.token, { port: PORT, waitMs: 0, ...more });
  const tell = (event: Event): Promise<void> =>
    beat({ events: [event] }).then(
      () => undefined,
      (error: Error) => void agent.errors.push(error.message),
    );
  while (!needs.signal.aborted) {
    try {
      if (agent.token === "") {
        const capabilities = { selfTest: true };
        const who = { mac: agent.mac, model: "campus-agent", version: "1", name: "", capabilities };
        agent.token = String((await post("/register", joinSecret, who)).token);
      }
      const { commands } = await beat({ waitMs: WAIT_MS });
      for (const command of commands as Play[]) await obey(agent, command, needs, tell);
    } catch (error) {
      agent.errors.push((error as Error).message);
      await sleep(needs.clock, SILENCE_MS, needs.signal).catch(() => undefined);
    }
  }
}

async function obey(
  agent: Agent,
  command: Play,
  needs: AgentsNeeds,
  tell: (event: Event) => Promise<void>,
): Promise<void> {
  const { at, sources } = needs;
  leave(agent, needs);
  if (command.kind !== "play") return;
  agent.plays++;
  const source = await sources.unicast(agent.address, PORT, "0.0.0.0");
  const listening = { source, joinedAt: at(), leftAt: null };
  agent.listening = listening;
  // The appliance sends to it once it is told; a sound may have begun before.
  void tell({ kind: "accepted", deliveryId: command.deliveryId }).then(() => {
    listening.joinedAt = at();
  });
  void follow(agent, listening, command, needs, tell);
}

/** Tells when the first packet sounds and that it was heard, and stops listening when nothing more comes. */
async function follow(
  agent: Agent,
  listening: Listening,
  { deliveryId, ssrc, delayMs }: Play,
  needs: AgentsNeeds,
  tell: (event: Event) => Promise<void>,
): Promise<void> {
  let told: "nothing" | "started" | "heard" = "nothing";
  while (listening.leftAt === null && !needs.signal.aborted) {
    await sleep(needs.clock, LOOK_MS, needs.signal).catch(() => undefined);
    const stream = listening.source.streams.find((each) => each.ssrc === ssrc);
    const first = stream?.arrivedAt[0];
    if (!stream || first === undefined) continue;
    if (told === "nothing") {
      told = "started";
      agent.startedAt = first + BUFFER_MS + delayMs;
      if (!agent.mute) void tell({ kind: "started", deliveryId, at: agent.startedAt });
    }
    if (told === "started" && stream.slots >= HEARD_PACKETS && !agent.mute) {
      told = "heard";
      void tell({ kind: "heard", deliveryId });
    }
    if (needs.at() - (stream.arrivedAt[stream.slots - 1] ?? 0) > SILENCE_MS) leave(agent, needs);
  }
}

function leave({ listening }: Agent, { at, sources }: AgentsNeeds): void {
  if (!listening || listening.leftAt !== null) return;
  listening.leftAt = at();
  sources.close(listening.source);
}
