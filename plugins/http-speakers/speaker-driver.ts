import type { DeliveryItem, DeliveryProfile, PluginContext, ProbeResult } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** The parts of a message that drivers need. */
export interface SpeakerMessage {
  text: DeliveryItem["text"];
  notificationId: string;
  priority: number;
  drill: boolean;
  audio: DeliveryItem["audio"];
  profile: Pick<DeliveryProfile, "showsText" | "concatenatedText" | "durationMs" | "scroll">;
}

/** Driver of one device; calls reject with an Error whose message is text for people. */
export interface SpeakerDriver {
  /** Target of the stream once started; null for a device that plays by itself. */
  target: { group: string; port: number } | null;
  start(message: SpeakerMessage): Promise<void>;
  /** Null if the device cannot be stopped. */
  stop: ((message: SpeakerMessage) => Promise<void>) | null;
  /** Volume control; null if not available. */
  volume: {
    read(): Promise<string>;
    set(value: string): Promise<void>;
    /** Values of the profile's volume levels. */
    words: Readonly<Record<Exclude<DeliveryProfile["volume"], "As-Is">, string>>;
  } | null;
  /** True if the device reports playback; null if it cannot be queried. */
  isPlaying: (() => Promise<boolean>) | null;
  probe(): Promise<ProbeResult>;
}

/** A device request failed. */
export class DeviceError extends Error {
  /** A retry may succeed. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** Timeout of a request to a device in the local network. */
const REQUEST_TIMEOUT_MS = 5_000;

/**
 * Sends a request; resolves with the body of a 2xx response. Rejects with DeviceError, whose message contains nothing
 * of the request.
 */
export async function requestDevice(
  fetch: PluginContext["fetch"],
  url: string,
  request: { method: string; headers?: Record<string, string>; body?: string },
): Promise<string> {
  let response: Awaited<ReturnType<PluginContext["fetch"]>>;
  try {
    response = await fetch(url, { ...request, timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    throw new DeviceError(error instanceof Error ? error.message : String(error), true);
  }
  const { status, body } = response;
  if (status >= 200 && status < 300) return body;
  if (status === 401 || status === 403) throw new DeviceError(sentence("auth-failed", { status }), false);
  throw new DeviceError(sentence("http-status", { status }), status >= 500 || status === 429);
}

/** Member at a dotted path of a JSON text, as a string; null if missing. */
export function jsonValueAt(body: string, path: string): string | null {
  try {
    const whole: unknown = JSON.parse(body);
    // The path may also be the name of one member.
    const flat = (whole as Record<string, unknown> | null)?.[path];
    const found =
      flat ??
      path
        .split(".")
        .reduce<unknown>(
          (at, name) => (typeof at === "object" && at !== null ? (at as never)[name] : undefined),
          whole,
        );
    return typeof found === "string" || typeof found === "number" ? String(found) : null;
  } catch {
    return null;
  }
}
