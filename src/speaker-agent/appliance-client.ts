import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";

/** What an agent is told to do. */
export type AgentCommand =
  | {
      kind: "play";
      deliveryId: number;
      notificationId: string;
      ssrc: number;
      volume: number;
      delayMs: number;
      priority: number;
    }
  | { kind: "stop"; deliveryId: number };

/** What an agent says of a delivery. */
export interface AgentEvent {
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed" | "alone";
  deliveryId: number;
  /** Epoch ms of the appliance. */
  at: number | null;
  words: string;
}

/** How the speaker is to sound. */
export interface AgentSettings {
  volume: number;
  delayMs: number;
  zones: { group: string; port: number; priority: number }[];
}

/** An answer of the appliance to a request for commands. */
export interface PollResponse {
  receivedAt: number;
  sentAt: number;
  commands: AgentCommand[];
  settings: AgentSettings;
}

/** Who registers. */
export interface RegistrationRequest {
  mac: string;
  model: string;
  version: string;
  name: string;
  capabilities: { selfTest: boolean };
}

/** What the appliance gives at registration. */
export interface RegistrationResponse {
  deviceIdentifier: string;
  token: string;
  configured: boolean;
  /** What it signs plans of rings with: base64 of 32 bytes. */
  planKey?: string;
}

/** How the agent stands with its plan of rings; epoch ms of the appliance. */
export interface RingPlanStatus {
  /** Null while it has none that it follows. */
  until: number | null;
  /** When it last had what the appliance has, with all sounds; null when never. */
  inOrderAt: number | null;
}

/** The appliance, as an agent talks to it; calls reject with UpstreamError, or CallerError where it says no. */
export interface ApplianceClient {
  register(introduction: RegistrationRequest, joinSecret: string | null): Promise<RegistrationResponse>;
  /** Asks for commands and tells events; the answer comes at the latest some time after `waitMs`. */
  poll(
    membership: { mac: string; token: string },
    beat: { port: number; waitMs: number; events: AgentEvent[]; plan: RingPlanStatus },
  ): Promise<PollResponse>;
  /** The signed plan of rings; `same` when it is still the one with this tag, `none` when there is no such speaker. */
  fetchPlan(
    membership: { mac: string; token: string },
    etag: string | null,
  ): Promise<{ etag: string; document: string } | "same" | "none">;
  /** A piece of a sound of the plan, G.711 µ-law, from a byte on; empty at its end. */
  fetchSound(membership: { mac: string; token: string }, sha256: string, from: number): Promise<Uint8Array>;
  /** Tells what sounded alone; resolves when it is written. */
  reportPlayedRings(
    membership: { mac: string; token: string },
    rings: readonly { ringId: string; at: number }[],
  ): Promise<void>;
}

/** Beyond what the appliance was asked to wait. own choice */
const RESPONSE_TIMEOUT_MS = 5_000;
/** For what has up to some MB. own choice */
const DOWNLOAD_TIMEOUT_MS = 30_000;

/** Makes the client of the appliance at `server`; `signal` ends what is under way. */
export function createApplianceClient(server: string, clock: Clock, signal: AbortSignal): ApplianceClient {
  /** One request; resolves with the answer while its body comes in. */
  const request = async <A>(
    { path, token, withinMs = RESPONSE_TIMEOUT_MS, expected = [], ...init }: RequestOptions,
    read: (response: Response) => Promise<A>,
  ): Promise<A> => {
    const late = new AbortController();
    const timer = clock.after(withinMs, () => late.abort());
    try {
      const response = await fetch(`${server}/x/speakers${path}`, {
        ...init,
        headers: { ...init.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
        redirect: "error",
        signal: AbortSignal.any([signal, late.signal]),
      });
      if (response.ok || expected.includes(response.status)) return await read(response);
      const words = `the appliance answered ${response.status}: ${errorMessageIn(await response.text())}`;
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new CallerError("invalid-value", words);
      throw new UpstreamError("upstream", words);
    } catch (error) {
      if (error instanceof CallerError || error instanceof UpstreamError) throw error;
      throw new UpstreamError("upstream", `the appliance can't be reached: ${failureCause(error)}`, {}, error);
    } finally {
      timer.cancel();
    }
  };
  const post = (path: string, token: string | null, body: object, withinMs?: number): Promise<unknown> =>
    request(
      {
        ...{ path, token, method: "POST", body: JSON.stringify(body) },
        headers: { "content-type": "application/json" },
        ...(withinMs === undefined ? {} : { withinMs }),
      },
      async (response) => (response.status === 204 ? null : response.json()),
    );
  return {
    register: async (introduction, joinSecret) =>
      (await post("/register", joinSecret, introduction)) as RegistrationResponse,
    poll: async ({ mac, token }, beat) =>
      (await post(`/agents/${mac}/beat`, token, beat, beat.waitMs + RESPONSE_TIMEOUT_MS)) as PollResponse,
    fetchPlan: ({ mac, token }, etag) =>
      request(
        {
          path: `/agents/${mac}/plan`,
          token,
          withinMs: DOWNLOAD_TIMEOUT_MS,
          expected: [304, 404],
          headers: etag === null ? {} : { "if-none-match": etag },
        },
        async (response) => {
          if (response.status === 304) return "same" as const;
          if (response.status === 404) return "none" as const;
          return { etag: response.headers.get("etag") ?? "", document: await response.text() };
        },
      ),
    fetchSound: ({ mac, token }, sha256, from) =>
      request(
        { path: `/agents/${mac}/sounds/${sha256}?from=${from}`, token, withinMs: DOWNLOAD_TIMEOUT_MS },
        async (response) => new Uint8Array(await response.arrayBuffer()),
      ),
    async reportPlayedRings({ mac, token }, rings) {
      await post(`/agents/${mac}/rang`, token, { rings });
    },
  };
}

interface RequestOptions {
  path: string;
  token: string | null;
  withinMs?: number;
  /** Answers that are told apart beside those of success. */
  expected?: readonly number[];
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

function errorMessageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? "");
  } catch {
    return text.slice(0, 100);
  }
}

function failureCause(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { message?: string } };
  return cause?.message ?? message;
}
