import type { Clock } from "../../lib/clock.ts";
import { invalidValue, UpstreamError } from "../../lib/errors.ts";
import { pause } from "../../lib/waits.ts";
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

/** What one speaker agent did and received; times in ms of the simulator's clock. */
export interface SimulatedAgentReport extends ReceivedAudio {
  deviceIdentifier: string;
  /** Start of the newest audio, as reported to the appliance. */
  startedAt: number | null;
  /** Number of play commands. */
  plays: number;
  errors: string[];
}

/** Simulated speakers that register at an appliance and poll for commands. @source plugins/speakers/README.md, Protocol */
export interface SimulatedAgents {
  /** Starts agents; those with `mute` accept everything and never report that they play. Throws CallerError. */
  start(request: Record<string, unknown>): undefined;
  reports(programme: ExpectedAudio | null): SimulatedAgentReport[];
}

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
/** Each agent has its own address, so that all can use one port. */
const PORT = 6_004;
/** Jitter buffer of a speaker. */
const JITTER_BUFFER_MS = 60;
const LONG_POLL_MS = 8_000;
const RESPONSE_TIMEOUT_MS = 5_000;
const POLL_MS = 20;
/** The self-test succeeds after this number of packets; a stream ends after this time without packets. */
const HEARD_PACKETS = 25;
const SILENCE_MS = 1_000;
const MAX_RESPONSE_BYTES = 65_536;

/** Starts without agents. */
export function createSimulatedAgents(deps: SimulatedAgentsDeps): SimulatedAgents {
  const agents: SimulatedAgent[] = [];
  return {
    start({ url, joinSecret, count = 1, mute = false }) {
      const server = requireHttpUrl("url", url).replace(/\/+$/, "");
      if (!Number.isInteger(count) || (count as number) < 1 || agents.length + (count as number) > MAX_AGENTS)
        throw invalidValue("count", `Must be an integer between 1 and ${MAX_AGENTS}.`);
      for (let n = 0; n < (count as number); n++) {
        const agent = createAgent(agents.length, mute === true);
        agents.push(agent);
        void runAgent(agent, server, String(joinSecret ?? ""), deps);
      }
    },
    reports(programme) {
      const cache = createAnalysisCache();
      return agents.map(({ mac, session, startedAt, plays, errors }, listener) => {
        const loss = { share: 0, seed: 0, listener };
        const received = session ? analyzeReception(session, loss, programme, cache) : NOTHING_RECEIVED;
        return { deviceIdentifier: `agent:${mac}`, ...received, startedAt, plays, errors };
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
  deps: SimulatedAgentsDeps,
): Promise<void> {
  const post = async (path: string, bearer: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` };
    const options = {
      timeoutMs: LONG_POLL_MS + RESPONSE_TIMEOUT_MS,
      maxBytes: MAX_RESPONSE_BYTES,
      form: JSON.stringify(body),
    };
    const url = `${server}/x/speakers${path}`;
    const { status, body: responseBody } = await deps.outgoing.send({
      url,
      localAddress: agent.address,
      headers,
      ...options,
    });
    if (status >= 300) throw new UpstreamError("upstream", `${path}: ${status}`);
    return JSON.parse(responseBody.toString("utf8")) as Record<string, unknown>;
  };
  const poll = (more: object): Promise<Record<string, unknown>> =>
    post(`/agents/${agent.mac}/beat`, agent.token, { port: PORT, waitMs: 0, ...more });
  const report = (event: SpeakerEvent): Promise<void> =>
    poll({ events: [event] }).then(
      () => undefined,
      (error: Error) => void agent.errors.push(error.message),
    );
  while (!deps.signal.aborted) {
    try {
      if (agent.token === "") {
        const capabilities = { selfTest: true };
        const identity = { mac: agent.mac, model: "campus-agent", version: "1", name: "", capabilities };
        agent.token = String((await post("/register", joinSecret, identity)).token);
      }
      const { commands } = await poll({ waitMs: LONG_POLL_MS });
      for (const command of commands as PlayCommand[]) await executeCommand(agent, command, deps, report);
    } catch (error) {
      agent.errors.push((error as Error).message);
      await pause(deps.clock, SILENCE_MS, deps.signal);
    }
  }
}

async function executeCommand(
  agent: SimulatedAgent,
  command: PlayCommand,
  deps: SimulatedAgentsDeps,
  report: (event: SpeakerEvent) => Promise<void>,
): Promise<void> {
  const { at, sources } = deps;
  stopListening(agent, deps);
  if (command.kind !== "play") return;
  agent.plays++;
  const source = await sources.openUnicast(agent.address, PORT, "0.0.0.0");
  const listening = { source, joinedAt: at(), leftAt: null };
  agent.session = listening;
  // The appliance starts sending after this report; earlier packets do not count.
  void report({ kind: "accepted", deliveryId: command.deliveryId }).then(() => {
    listening.joinedAt = at();
  });
  void reportStream(agent, listening, command, deps, report);
}

/** Reports that the first packet plays and that it was heard; stops listening when the stream ends. */
async function reportStream(
  agent: SimulatedAgent,
  listening: ListeningSession,
  { deliveryId, ssrc, delayMs }: PlayCommand,
  deps: SimulatedAgentsDeps,
  report: (event: SpeakerEvent) => Promise<void>,
): Promise<void> {
  let reported: "nothing" | "started" | "heard" = "nothing";
  while (listening.leftAt === null && !deps.signal.aborted) {
    await pause(deps.clock, POLL_MS, deps.signal);
    const stream = listening.source.streams.find((each) => each.ssrc === ssrc);
    const first = stream?.arrivedAt[0];
    if (!stream || first === undefined) continue;
    if (reported === "nothing") {
      reported = "started";
      agent.startedAt = first + JITTER_BUFFER_MS + delayMs;
      if (!agent.mute) void report({ kind: "started", deliveryId, at: agent.startedAt });
    }
    if (reported === "started" && stream.slots >= HEARD_PACKETS && !agent.mute) {
      reported = "heard";
      void report({ kind: "heard", deliveryId });
    }
    if (deps.at() - (stream.arrivedAt[stream.slots - 1] ?? 0) > SILENCE_MS) stopListening(agent, deps);
  }
}

function stopListening({ session }: SimulatedAgent, { at, sources }: SimulatedAgentsDeps): void {
  if (!session || session.leftAt !== null) return;
  session.leftAt = at();
  sources.close(session.source);
}
