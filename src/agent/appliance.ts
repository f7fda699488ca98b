import type { Clock } from "../base/clock.ts";
import { CallerError, UpstreamError } from "../base/errors.ts";

/** What an agent is told to do. */
export type Command =
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
  kind: "accepted" | "started" | "heard" | "unheard" | "ended" | "failed";
  deliveryId: number;
  /** Epoch ms of the appliance. */
  at: number | null;
  words: string;
}

/** How the speaker is to sound. */
export interface Settings {
  volume: number;
  delayMs: number;
  zones: { group: string; port: number; priority: number }[];
}

/** An answer of the appliance to a request for commands. */
export interface Answer {
  receivedAt: number;
  sentAt: number;
  commands: Command[];
  settings: Settings;
}

/** Who registers. */
export interface Introduction {
  mac: string;
  model: string;
  version: string;
  name: string;
  capabilities: { selfTest: boolean };
}

/** What the appliance gives at registration. */
export interface Welcome {
  deviceIdentifier: string;
  token: string;
  configured: boolean;
}

/** The appliance, as an agent talks to it; calls reject with UpstreamError, or CallerError where it says no. */
export interface Appliance {
  register(introduction: Introduction, joinSecret: string | null): Promise<Welcome>;
  /** Asks for commands and tells events; the answer comes at the latest some time after `waitMs`. */
  beat(
    membership: { mac: string; token: string },
    beat: { port: number; waitMs: number; events: AgentEvent[] },
  ): Promise<Answer>;
}

/** Beyond what the appliance was asked to wait. own choice */
const PATIENCE_MS = 5_000;

/** Makes the client of the appliance at `server`; `signal` ends what is under way. */
export function createAppliance(server: string, clock: Clock, signal: AbortSignal): Appliance {
  const post = async (path: string, token: string | null, body: object, withinMs: number): Promise<unknown> => {
    const late = new AbortController();
    const timer = clock.after(withinMs, () => late.abort());
    try {
      const response = await fetch(`${server}/x/speakers${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.any([signal, late.signal]),
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      const words = `the appliance answered ${response.status}: ${messageIn(text)}`;
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new CallerError("invalid-value", words);
      throw new UpstreamError("upstream", words);
    } catch (error) {
      if (error instanceof CallerError || error instanceof UpstreamError) throw error;
      throw new UpstreamError("upstream", `the appliance can't be reached: ${causeOf(error)}`, {}, error);
    } finally {
      timer.cancel();
    }
  };
  return {
    register: async (introduction, joinSecret) =>
      (await post("/register", joinSecret, introduction, PATIENCE_MS)) as Welcome,
    beat: async ({ mac, token }, beat) =>
      (await post(`/agents/${mac}/beat`, token, beat, beat.waitMs + PATIENCE_MS)) as Answer,
  };
}

function messageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? "");
  } catch {
    return text.slice(0, 100);
  }
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { message?: string } };
  return cause?.message ?? message;
}
