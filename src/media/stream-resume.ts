import { PACKET_BYTES, PACKET_MS } from "./rtp.ts";
import type { StreamSpec } from "./streamer-messages.ts";

/** Time to open a socket before the first packet is due. own choice */
const SOCKET_LEAD_MS = 60;

/**
 * Where a stream that began at `t0Ms` (epoch ms, packet `spec.offsetPackets`) goes on after an interruption, or a
 * latecomer joins it live: the spec with its new offset and the moment of that packet, on the same 20 ms grid, some 60 ms
 * from now; with a t0 further ahead both are as given. Null when it would have ended by then.
 */
export function resumeStream(spec: StreamSpec, t0Ms: number, nowMs: number): { spec: StreamSpec; t0Ms: number } | null {
  const missed = Math.max(0, Math.ceil((nowMs + SOCKET_LEAD_MS - t0Ms) / PACKET_MS));
  const offsetPackets = spec.offsetPackets + missed;
  if (offsetPackets >= (spec.payload.length / PACKET_BYTES) * spec.repeats) return null;
  return { spec: { ...spec, offsetPackets }, t0Ms: t0Ms + missed * PACKET_MS };
}
