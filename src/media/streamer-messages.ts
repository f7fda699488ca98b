import type { SrtpMasterKey } from "./srtp.ts";

/** One RTP stream to one address. */
export interface StreamSpec {
  /** Chosen by the caller, unique among open streams. */
  streamId: string;
  /** IPv4 multicast group, or a single host. */
  group: string;
  port: number;
  /** TTL of multicast packets, 1..255. */
  ttl: number;
  /**
   * Interface to send from, by its name or its IPv4 address; null: as the system's routes lead. Resolved at each opening
   * and each change of the network.
   */
  networkInterface: string | null;
  /** Without a network the stream is opened all the same, and is heard from the moment the network is there. */
  waitsForNetwork?: boolean;
  /** Local source port, on which another process receives the answers; any port by default. */
  sourcePort?: number;
  ssrc: number;
  /** RTP payload type of `payload`. @source RFC 3551 tables 4 and 5 */
  payloadType: number;
  /** 160 bytes per packet, at least one packet; not copied when its memory is shared. */
  payload: Uint8Array;
  /** How often the payload is sent; Infinity: until the stream is ended. */
  repeats: number;
  /** Packets sent by an earlier process: the stream starts with this one (0 for a new stream). */
  offsetPackets: number;
  /** SRTP key; one key must never encrypt the same packet index of an SSRC twice. */
  secrecy?: SrtpMasterKey;
  /**
   * The first packet that the other side could receive, from which it counts sequence number rollovers; set by the
   * streamer.
   */
  heardFrom?: number;
}

export interface StreamStarted {
  streamId: string;
  /** Epoch ms. */
  firstPacketAt: number;
}

/** Final report of a stream. */
export interface StreamEnded {
  streamId: string;
  /** `finished`: everything was sent; `stopped`: ended early; `lost`: the streamer failed and could not resume. */
  reason: "finished" | "stopped" | "lost";
  /** Epoch ms; null when nothing was sent. */
  firstPacketAt: number | null;
  /** Packets accepted by the system (since the streamer's latest failure, if any). */
  packets: number;
  /** Packets refused by the system. */
  sendErrors: number;
  /** Maximum delay of a packet. */
  lateMaxMs: number;
  /** Packets that left more than 5 ms late. */
  latePackets: number;
}

/** A stream was opened, or leaves from another address since. */
export interface StreamRouted {
  streamId: string;
  group: string;
  port: number;
  ssrc: number;
  /** Address that packets come from; null while nothing can leave. */
  source: string | null;
}

/** Statistics of a stream that sent no packet. */
export const NO_PACKETS_SENT = { firstPacketAt: null, packets: 0, sendErrors: 0, lateMaxMs: 0, latePackets: 0 };

/** Requests to the streamer's thread. */
export type StreamerRequest =
  | { kind: "open"; spec: StreamSpec }
  | { kind: "start"; streamIds: string[]; t0Ms: number }
  | { kind: "repeat"; streamId: string; repeats: number }
  | { kind: "play"; streamId: string; parts: readonly Uint8Array[] }
  | { kind: "end"; streamId: string }
  | { kind: "network" }
  | { kind: "close" };

/** Reports of the thread; starts are batched, since a broadcast starts hundreds of streams at once. */
export type StreamerReport =
  | { kind: "closed" }
  | { kind: "ready"; priorityFault: string | null }
  | { kind: "opened"; streamId: string; source: string | null }
  | { kind: "refused"; streamId: string; message: string; isUnreachable: boolean }
  | {
      kind: "rebound";
      moved: number;
      unreachable: number;
      sources: readonly { streamId: string; source: string | null }[];
    }
  | { kind: "started"; streams: StreamStarted[] }
  | { kind: "ended"; streams: StreamEnded[] };
