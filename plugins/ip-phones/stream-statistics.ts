import type { AudioTarget } from "#plugin-api";
import type { PhoneRequest } from "./phone-client.ts";
import { elementText } from "./xml.ts";

/** Statistics of the current or latest stream. */
export interface StreamStatistics {
  /** Packets received. */
  packets: number;
  /** `address/port` of the remote end. */
  remote: string;
  /** True while receiving; null if not reported. */
  active: boolean | null;
}

/** Requests the statistics of the first stream, which pushed audio uses. */
export const STATISTICS_REQUEST: PhoneRequest = {
  method: "GET",
  path: "/StreamingStatisticsX?1",
  headers: {},
  body: "",
};

/** Parses the statistics page; null if invalid. @source IP phone administration guides, Streaming Statistics */
export function parseStreamStatistics(body: string): StreamStatistics | null {
  const packets = elementText(body, "RcvrPackets");
  if (packets === null || !/^\d{1,15}$/.test(packets)) return null;
  const status = elementText(body, "StreamStatus");
  const active = status === null || status === "" ? null : /^active$/i.test(status);
  return { packets: Number(packets), remote: elementText(body, "RemoteAddr") ?? "", active };
}

/** True if the phone stopped receiving: it reports so, or no packets arrived since the previous query. */
export function hasDropped(now: StreamStatistics, before: StreamStatistics | null): boolean {
  if (now.active === false) return true;
  return before !== null && (before.remote !== now.remote || now.packets === before.packets);
}

/**
 * True if the phone proves that it receives this stream: packets from its address, or, with another remote end, more
 * packets than at the previous query (null: none).
 */
export function provesSound(now: StreamStatistics, before: StreamStatistics | null, audio: AudioTarget): boolean {
  if (now.packets === 0) return false;
  if (now.remote === `${audio.group}/${audio.port}`) return true;
  return before !== null && before.remote === now.remote && now.packets > before.packets;
}
