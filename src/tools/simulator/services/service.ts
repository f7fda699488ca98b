import { invalidValue } from "../../../lib/errors.ts";
import type { RtpEndpoint, RtpEndpoints } from "../rtp-endpoints.ts";

/** What the far end of a channel got: one message, to one address. */
export interface ReceivedMessage {
  /** `mail`, `sms`, `chat` … */
  service: string;
  /** Address within the channel. */
  to: string;
  /** What a person there would read; of sound, nothing. */
  words: string;
  /** Packets of sound; 0 for words alone. */
  packets: number;
  /** Ms of the campus's clock; of sound, its first packet. */
  at: number;
}

/** The far end of a channel: a server or a device that speaks the channel's own protocol on 127.0.0.1. */
export interface SimulatedService {
  /** What an appliance must know to reach it: host, port, address …, all as text. */
  readonly connectionSettings: Record<string, string>;
  /** What came so far, oldest first. */
  receptions(): ReceivedMessage[];
  /** Takes what it can only be told once the appliance is set up; throws a CallerError for what it can't use. */
  configure?(values: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/** What a service may use of its campus. */
export interface SimulatedServiceDeps {
  /** Ms of the campus's clock. */
  at(): number;
  sources: RtpEndpoints;
}

/** The sound that came to a source by its newest stream; nothing before its first packet. */
export function receivedAudioOf({ streams }: RtpEndpoint, service: string, to: string): ReceivedMessage[] {
  const stream = streams.at(-1);
  const at = stream?.arrivedAt[0];
  return stream && at !== undefined ? [{ service, to, words: "", packets: stream.slots, at }] : [];
}

/** The member `url`; CallerError unless it is an absolute one. */
export function requireUrl({ url }: Record<string, unknown>): string {
  if (typeof url === "string" && URL.canParse(url)) return url;
  throw invalidValue("url", "Use an absolute URL.");
}
