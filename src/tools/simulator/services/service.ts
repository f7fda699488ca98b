import { invalidValue } from "../../../lib/errors.ts";
import type { RtpEndpoint, RtpEndpoints } from "../rtp-endpoints.ts";

/** A message that a service received, for one address. */
export interface ReceivedMessage {
  /** `mail`, `sms`, `chat` … */
  service: string;
  /** Address within the channel. */
  to: string;
  /** Text of the message; empty for audio. */
  words: string;
  /** Audio packets; 0 for text. */
  packets: number;
  /** Ms of the simulator's clock; for audio, of its first packet. */
  at: number;
}

/** The receiving side of a channel: a server or device that speaks the channel's protocol on 127.0.0.1. */
export interface SimulatedService {
  /** Connection settings for the appliance: host, port, address …, all as strings. */
  readonly connectionSettings: Record<string, string>;
  /** Messages received so far, oldest first. */
  receptions(): ReceivedMessage[];
  /** Settings that are known only once the appliance runs; throws CallerError for invalid ones. */
  configure?(values: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/** What the simulator provides to a service. */
export interface SimulatedServiceDeps {
  /** Ms of the simulator's clock. */
  at(): number;
  sources: RtpEndpoints;
}

/** Audio of the newest stream at an endpoint; empty before its first packet. */
export function receivedAudioOf({ streams }: RtpEndpoint, service: string, to: string): ReceivedMessage[] {
  const stream = streams.at(-1);
  const at = stream?.arrivedAt[0];
  return stream && at !== undefined ? [{ service, to, words: "", packets: stream.slots, at }] : [];
}

/** The member `url`; CallerError unless it is an absolute URL. */
export function requireUrl({ url }: Record<string, unknown>): string {
  if (typeof url === "string" && URL.canParse(url)) return url;
  throw invalidValue("url", "Must be an absolute URL.");
}
