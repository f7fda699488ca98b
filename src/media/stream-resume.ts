import { PACKET_BYTES, PACKET_MS } from "./rtp.ts";
import type { StreamSpec } from "./streamer-messages.ts";

/** Time to open a socket before the first packet is due. */
const SOCKET_LEAD_MS = 60;

/**
 * Where an interrupted stream that began at `t0Ms` (epoch ms, packet `spec.offsetPackets`) resumes, or where a
 * latecomer joins: the spec with its new offset and the time of that packet, on the same 20 ms grid, some 60 ms from
 * now; unchanged when t0 is further ahead. Null when the stream would have ended by then.
 */
export function resumeStream(spec: StreamSpec, t0Ms: number, nowMs: number): { spec: StreamSpec; t0Ms: number } | null {
  const missed = Math.max(0, Math.ceil((nowMs + SOCKET_LEAD_MS - t0Ms) / PACKET_MS));
  const offsetPackets = spec.offsetPackets + missed;
  if (offsetPackets >= (spec.payload.length / PACKET_BYTES) * spec.repeats) return null;
  return { spec: { ...spec, offsetPackets }, t0Ms: t0Ms + missed * PACKET_MS };
}
