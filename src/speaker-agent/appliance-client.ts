import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { SrtpMasterKey } from "../media/srtp.ts";
import type { Detection } from "./matched-filter.ts";
import type { StrangerReport } from "./stranger-log.ts";

/** A command from the appliance. */
export type AgentCommand =
  | {
      kind: "play";
      deliveryId: number;
      notificationId: string;
      ssrc: number;
      volume: number;
      delayMs: number;
      priority: number;
      /** Address that the stream comes from; missing or null if unknown. */
      source?: string | null;
      /** Key of the stream; missing if the appliance does not encrypt it. */
      secrecy?: SrtpMasterKey;
    }
  | { kind: "stop"; deliveryId: number }
  /** The settings of this response are new. */
  | { kind: "refresh" };

/** A delivery event reported to the appliance. */
export interface AgentEvent {
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed" | "alone";
  deliveryId: number;
  /** Epoch ms by the appliance's clock. */
  at: number | null;
  words: string;
  /** Match of the recording, if a microphone listened. */
  detection?: Detection;
}

/** A multicast group that the speaker also plays. */
export interface MonitoredZone {
  group: string;
  port: number;
  priority: number;
  /** Addresses of other systems whose audio is played. */
  senders?: string[];
  /** Streams that the appliance sends to the group now; missing from an appliance that does not announce them. */
  streams?: { ssrc: number; source: string }[];
}

/** Settings of the speaker. */
export interface AgentSettings {
  volume: number;
  delayMs: number;
  zones: MonitoredZone[];
}

/** Response to a long poll for commands. */
export interface PollResponse {
  receivedAt: number;
  sentAt: number;
  commands: AgentCommand[];
  settings: AgentSettings;
}

export interface RegistrationRequest {
  mac: string;
  model: string;
  version: string;
  name: string;
  /** `srtp`: it plays encrypted streams, and of zones only announced ones. */
  capabilities: { selfTest: boolean; srtp: boolean };
}

export interface RegistrationResponse {
  deviceIdentifier: string;
  token: string;
  configured: boolean;
  /** Public key of signed ring plans: base64 of 32 bytes. */
  planKey?: string;
}

/** Status of the agent's ring plan; epoch ms by the appliance's clock. */
export interface RingPlanStatus {
  /** End of the plan; null without a valid plan. */
  until: number | null;
  /** When plan and sounds were last up to date; null if never. */
  inOrderAt: number | null;
}

/**
 * HTTP client of the appliance. Calls reject with UpstreamError if the appliance is unreachable or fails, and with
 * CallerError if it refuses.
 */
export interface ApplianceClient {
  register(introduction: RegistrationRequest, joinSecret: string | null): Promise<RegistrationResponse>;
  /** Long-polls for commands and reports events; resolves shortly after `waitMs` at the latest. */
  poll(
    membership: { mac: string; token: string },
    beat: {
      port: number;
      waitMs: number;
      events: AgentEvent[];
      plan: RingPlanStatus;
      srtp: boolean;
      strangers: StrangerReport | null;
    },
  ): Promise<PollResponse>;
  /** Fetches the signed ring plan: `same` if the tag is current, `none` if the appliance does not know this speaker. */
  fetchPlan(
    membership: { mac: string; token: string },
    etag: string | null,
  ): Promise<{ etag: string; document: string } | "same" | "none">;
  /** Fetches part of a planned sound (G.711 µ-law) from a byte offset; empty at its end. */
  fetchSound(membership: { mac: string; token: string }, sha256: string, from: number): Promise<Uint8Array>;
  /** Reports rings played offline; resolves when they are stored. */
  reportPlayedRings(
    membership: { mac: string; token: string },
    rings: readonly { ringId: string; at: number }[],
  ): Promise<void>;
}

/** Added to the poll's own wait time. */
const RESPONSE_TIMEOUT_MS = 5_000;
/** Timeout of plan and sound downloads, up to some MB. */
const DOWNLOAD_TIMEOUT_MS = 30_000;

/** Creates the client of the appliance at `server`; `signal` aborts requests in progress. */
export function createApplianceClient(server: string, clock: Clock, signal: AbortSignal): ApplianceClient {
  /** Sends one request; `read` consumes the response within the timeout. */
  const request = async <A>(
    { path, token, timeoutMs = RESPONSE_TIMEOUT_MS, expected = [], ...init }: RequestOptions,
    read: (response: Response) => Promise<A>,
  ): Promise<A> => {
    const timeout = new AbortController();
    const timer = clock.after(timeoutMs, () => timeout.abort());
    try {
      const response = await fetch(`${server}/x/speakers${path}`, {
        ...init,
        headers: { ...init.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
        redirect: "error",
        signal: AbortSignal.any([signal, timeout.signal]),
      });
      if (response.ok || expected.includes(response.status)) return await read(response);
      const message = `the appliance responded with HTTP ${response.status}: ${errorMessageIn(await response.text())}`;
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new CallerError("invalid-value", message);
      throw new UpstreamError("upstream", message);
    } catch (error) {
      if (error instanceof CallerError || error instanceof UpstreamError) throw error;
      throw new UpstreamError("upstream", `the appliance is unreachable: ${failureCause(error)}`, {}, error);
    } finally {
      timer.cancel();
    }
  };
  const post = (path: string, token: string | null, body: object, timeoutMs?: number): Promise<unknown> =>
    request(
      {
        ...{ path, token, method: "POST", body: JSON.stringify(body) },
        headers: { "content-type": "application/json" },
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
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
          timeoutMs: DOWNLOAD_TIMEOUT_MS,
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
        { path: `/agents/${mac}/sounds/${sha256}?from=${from}`, token, timeoutMs: DOWNLOAD_TIMEOUT_MS },
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
  timeoutMs?: number;
  /** Statuses handled by the caller, besides 2xx. */
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
