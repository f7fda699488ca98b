import type { SrtpMasterKey } from "./srtp.ts";

/** One RTP stream to one address. */
export interface StreamSpec {
  /** Chosen by the caller, unique among the streams that have not ended. */
  streamId: string;
  /** IPv4 multicast group, or a single host. */
  group: string;
  port: number;
  /** Hops a multicast packet may take, 1..255. */
  ttl: number;
  /** Own IPv4 address on the network to send into. */
  interfaceAddress: string;
  /** Own port that the packets come from, on which somebody else hears the answers; any unless given. */
  sourcePort?: number;
  ssrc: number;
  /** RTP payload type of `payload`. @source RFC 3551 tables 4 and 5 */
  payloadType: number;
  /** 160 bytes per packet, at least one packet; not copied when its memory is shared. */
  payload: Uint8Array;
  /** How often the payload is sent; Infinity: until the stream is ended. */
  repeats: number;
  /** Packets that were sent by an earlier process: the stream starts with this one (0 for a new stream). */
  offsetPackets: number;
  /** Encrypts the packets; the numbers of what is encrypted by one secret never repeat for one SSRC. */
  secrecy?: SrtpMasterKey;
  /** The first packet that the other side could hear, from which it counts how often numbers began anew; set by the streamer. */
  heardFrom?: number;
}

/** A stream's first packet has left. */
export interface StreamStarted {
  streamId: string;
  /** Epoch ms. */
  firstPacketAt: number;
}

/** A stream has come to its end; nothing of it follows. */
export interface StreamEnded {
  streamId: string;
  /** `finished`: all was sent; `stopped`: ended before; `lost`: the streamer failed and could not go on. */
  reason: "finished" | "stopped" | "lost";
  /** Epoch ms; null when nothing was sent. */
  firstPacketAt: number | null;
  /** Packets the system took (since the latest failure of the streamer, if it had one). */
  packets: number;
  /** Packets the system refused. */
  sendErrors: number;
  /** How late the latest packet left. */
  lateMaxMs: number;
  /** Packets that left more than 5 ms late. */
  latePackets: number;
}

/** The account of a stream of which no packet left. */
export const NO_PACKETS_SENT = { firstPacketAt: null, packets: 0, sendErrors: 0, lateMaxMs: 0, latePackets: 0 };

/** What the streamer asks of its thread. */
export type StreamerRequest =
  | { kind: "open"; spec: StreamSpec }
  | { kind: "start"; streamIds: string[]; t0Ms: number }
  | { kind: "repeat"; streamId: string; repeats: number }
  | { kind: "play"; streamId: string; parts: readonly Uint8Array[] }
  | { kind: "end"; streamId: string }
  | { kind: "close" };

/** What the thread reports; starts are told together, since a broadcast starts hundreds at once. */
export type StreamerReport =
  | { kind: "closed" }
  | { kind: "ready"; priorityFault: string | null }
  | { kind: "opened"; streamId: string }
  | { kind: "refused"; streamId: string; message: string }
  | { kind: "started"; streams: StreamStarted[] }
  | { kind: "ended"; streams: StreamEnded[] };
