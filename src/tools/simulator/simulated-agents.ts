import { type Clock, sleep } from "../../lib/clock.ts";
import { invalidValue, UpstreamError } from "../../lib/errors.ts";
import type { ExpectedAudio } from "./expected-audio.ts";
import { requireHttpUrl } from "./options.ts";
import type { PhoneHttpClient } from "./phone-http-client.ts";
import {
  analyzeReception,
  createAnalysisCache,
  type ListeningSession,
  NOTHING_RECEIVED,
  type ReceivedAudio,
} from "./reception-analysis.ts";
import type { RtpEndpoints } from "./rtp-endpoints.ts";

/** What one speaker with an agent did and heard; times in ms of the campus's clock. */
export interface SimulatedAgentReport extends ReceivedAudio {
  deviceIdentifier: string;
  /** When its newest sound began, as it told the appliance. */
  startedAt: number | null;
  /** Orders to play. */
  plays: number;
  errors: string[];
}

/** Simulated speakers that register at an appliance and ask for commands. @source plugins/speakers/README.md, Protocol */
export interface SimulatedAgents {
  /** Starts some; those with `mute` take everything and never say that they play. Throws CallerError. */
  start(order: Record<string, unknown>): undefined;
  reports(programme: ExpectedAudio | null): SimulatedAgentReport[];
}

/** What agents need. */
export interface SimulatedAgentsDeps {
  clock: Clock;
  signal: AbortSignal;
  /** Wall time in ms. */
  at(): number;
  sources: RtpEndpoints;
  outgoing: PhoneHttpClient;
}

interface SimulatedAgent {
  readonly mac: string;
  readonly address: string;
  readonly mute: boolean;
  token: string;
  session: ListeningSession | null;
  startedAt: number | null;
  plays: number;
  errors: string[];
}

interface PlayCommand {
  kind: string;
  deliveryId: number;
  ssrc: number;
  delayMs: number;
}

type SpeakerEvent = { kind: string; deliveryId: number; at?: number };

const MAX_AGENTS = 5_000;
/** own choice: each has an address of its own, so that all may have one port. */
const PORT = 6_004;
/** What a speaker of this kind holds back against packets that are late. */
const JITTER_BUFFER_MS = 60;
const LONG_POLL_MS = 8_000;
const RESPONSE_TIMEOUT_MS = 5_000;
const POLL_MS = 20;
/** It hears itself after so many packets, and is over when none came for so long. */
const HEARD_PACKETS = 25;
const SILENCE_MS = 1_000;
const MAX_RESPONSE_BYTES = 65_536;

/** Makes the campus's agents, none as yet. */
export function createSimulatedAgents(needs: SimulatedAgentsDeps): SimulatedAgents {
  const agents: SimulatedAgent[] = [];
  return {
    start({ url, joinSecret, count = 1, mute = false }) {
      const server = requireHttpUrl("url", url).replace(/\/+$/, "");
      if (!Number.isInteger(count) || (count as number) < 1 || agents.length + (count as number) > MAX_AGENTS)
        throw invalidValue("count", `Use 1 to ${MAX_AGENTS}.`);
      for (let n = 0; n < (count as number); n++) {
        const agent = createAgent(agents.length, mute === true);
        agents.push(agent);
        void runAgent(agent, server, String(joinSecret ?? ""), needs);
      }
    },
    reports(programme) {
      const cache = createAnalysisCache();
      return agents.map(({ mac, session, startedAt, plays, errors }, listener) => {
        const loss = { share: 0, seed: 0, listener };
        const heard = session ? analyzeReception(session, loss, programme, cache) : NOTHING_RECEIVED;
        return { deviceIdentifier: `agent:${mac}`, ...heard, startedAt, plays, errors };
      });
    },
  };
}

function createAgent(index: number, mute: boolean): SimulatedAgent {
  return {
    mac: `02CB${index.toString(16).toUpperCase().padStart(8, "0")}`,
    address: `127.80.${Math.floor(index / 250)}.${1 + (index % 250)}`,
    ...{ mute, token: "", session: null, startedAt: null, plays: 0, errors: [] },
  };
}

async function runAgent(
  agent: SimulatedAgent,
  server: string,
  joinSecret: string,
  needs: SimulatedAgentsDeps,
): Promise<void> {
  const post = async (path: string, bearer: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` };
    const more = {
      timeoutMs: LONG_POLL_MS + RESPONSE_TIMEOUT_MS,
      maxBytes: MAX_RESPONSE_BYTES,
      form: JSON.stringify(body),
    };
    const url = `${server}/x/speakers${path}`;
    const { status, body: answer } = await needs.outgoing.send({ url, localAddress: agent.address, headers, ...more });
    if (status >= 300) throw new UpstreamError("upstream", `${path}: ${status}`);
    return JSON.parse(answer.toString("utf8")) as Record<string, unknown>;
  };
  const beat = (more: object): Promise<Record<string, unknown>> =>
    post(`/agents/${agent.mac}/beat`, agent.token, { port: PORT, waitMs: 0, ...more });
  const tell = (event: SpeakerEvent): Promise<void> =>
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
      const { commands } = await beat({ waitMs: LONG_POLL_MS });
      for (const command of commands as PlayCommand[]) await executeCommand(agent, command, needs, tell);
    } catch (error) {
      agent.errors.push((error as Error).message);
      await sleep(needs.clock, SILENCE_MS, needs.signal).catch(() => undefined);
    }
  }
}

async function executeCommand(
  agent: SimulatedAgent,
  command: PlayCommand,
  needs: SimulatedAgentsDeps,
  tell: (event: SpeakerEvent) => Promise<void>,
): Promise<void> {
  const { at, sources } = needs;
  stopListening(agent, needs);
  if (command.kind !== "play") return;
  agent.plays++;
  const source = await sources.openUnicast(agent.address, PORT, "0.0.0.0");
  const listening = { source, joinedAt: at(), leftAt: null };
  agent.session = listening;
  // The appliance sends to it once it is told; a sound may have begun before.
  void tell({ kind: "accepted", deliveryId: command.deliveryId }).then(() => {
    listening.joinedAt = at();
  });
  void reportStream(agent, listening, command, needs, tell);
}

/** Tells when the first packet sounds and that it was heard, and stops listening when nothing more comes. */
async function reportStream(
  agent: SimulatedAgent,
  listening: ListeningSession,
  { deliveryId, ssrc, delayMs }: PlayCommand,
  needs: SimulatedAgentsDeps,
  tell: (event: SpeakerEvent) => Promise<void>,
): Promise<void> {
  let told: "nothing" | "started" | "heard" = "nothing";
  while (listening.leftAt === null && !needs.signal.aborted) {
    await sleep(needs.clock, POLL_MS, needs.signal).catch(() => undefined);
    const stream = listening.source.streams.find((each) => each.ssrc === ssrc);
    const first = stream?.arrivedAt[0];
    if (!stream || first === undefined) continue;
    if (told === "nothing") {
      told = "started";
      agent.startedAt = first + JITTER_BUFFER_MS + delayMs;
      if (!agent.mute) void tell({ kind: "started", deliveryId, at: agent.startedAt });
    }
    if (told === "started" && stream.slots >= HEARD_PACKETS && !agent.mute) {
      told = "heard";
      void tell({ kind: "heard", deliveryId });
    }
    if (needs.at() - (stream.arrivedAt[stream.slots - 1] ?? 0) > SILENCE_MS) stopListening(agent, needs);
  }
}

function stopListening({ session }: SimulatedAgent, { at, sources }: SimulatedAgentsDeps): void {
  if (!session || session.leftAt !== null) return;
  session.leftAt = at();
  sources.close(session.source);
}
