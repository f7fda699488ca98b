import type { DeliveryItem, DeliveryProfile, PluginContext, ProbeResult } from "#plugin-api";

/** What a message asks of a device, as far as drivers need it. */
export interface SpeakerMessage {
  text: DeliveryItem["text"];
  notificationId: string;
  priority: number;
  drill: boolean;
  audio: DeliveryItem["audio"];
  profile: Pick<DeliveryProfile, "showsText" | "concatenatedText" | "durationMs" | "scroll">;
}

/** How one device is talked to; every call rejects with an Error whose message says in words why. */
export interface SpeakerDriver {
  /** IPv4 address and port at which it takes a stream once it was started; null for one that plays by itself. */
  target: { group: string; port: number } | null;
  start(message: SpeakerMessage): Promise<void>;
  /** Null for one that can't be told. */
  stop: ((message: SpeakerMessage) => Promise<void>) | null;
  /** Its own volume; null for one whose volume is not known. */
  volume: {
    read(): Promise<string>;
    set(value: string): Promise<void>;
    /** What the words of a profile are there. */
    words: Readonly<Record<Exclude<DeliveryProfile["volume"], "As-Is">, string>>;
  } | null;
  /** True when it says that it plays; null for one that can't be asked. */
  isPlaying: (() => Promise<boolean>) | null;
  probe(): Promise<ProbeResult>;
}

/** A device did not do what it was asked. */
export class DeviceError extends Error {
  /** Asking again may help. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** own choice: a device in the own network that takes longer is not well. */
const REQUEST_TIMEOUT_MS = 5_000;

/** Asks a device; gives the body of a 2xx. Rejects with a Refusal that holds nothing of the request. */
export async function requestDevice(
  fetch: PluginContext["fetch"],
  url: string,
  request: { method: string; headers?: Record<string, string>; body?: string },
): Promise<string> {
  let answer: Awaited<ReturnType<PluginContext["fetch"]>>;
  try {
    answer = await fetch(url, { ...request, timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    throw new DeviceError(error instanceof Error ? error.message : String(error), true);
  }
  const { status, body } = answer;
  if (status >= 200 && status < 300) return body;
  if (status === 401 || status === 403)
    throw new DeviceError(`the device refused the password (HTTP ${status})`, false);
  throw new DeviceError(`the device answered with HTTP ${status}`, status >= 500 || status === 429);
}

/** The member of a JSON answer that a dotted path names, as text; null when it is not there. */
export function jsonValueAt(body: string, path: string): string | null {
  try {
    const whole: unknown = JSON.parse(body);
    // A name with dots may be one member.
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
