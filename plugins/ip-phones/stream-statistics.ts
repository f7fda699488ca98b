import type { AudioTarget } from "#plugin-api";
import type { PhoneRequest } from "./phone-client.ts";
import { elementText } from "./xml.ts";

/** What a phone counts of the stream it receives, or of the last one. */
export interface StreamStatistics {
  /** Packets received. */
  packets: number;
  /** `address/port` of the stream's other end. */
  remote: string;
  /** Whether it receives at the moment; null where it does not say. */
  active: boolean | null;
}

/** Asks for the statistics of the first stream, the one that pushed sound uses. */
export const STATISTICS_REQUEST: PhoneRequest = {
  method: "GET",
  path: "/StreamingStatisticsX?1",
  headers: {},
  body: "",
};

/** Reads the statistics page; null when it is none. @source IP phone administration guides, "Streaming Statistics" */
export function parseStreamStatistics(body: string): StreamStatistics | null {
  const packets = elementText(body, "RcvrPackets");
  if (packets === null || !/^\d{1,15}$/.test(packets)) return null;
  const status = elementText(body, "StreamStatus");
  const active = status === null || status === "" ? null : /^active$/i.test(status);
  return { packets: Number(packets), remote: elementText(body, "RemoteAddr") ?? "", active };
}

/** True when a phone that received a stream does so no more: it says so, or nothing came since the question before. */
export function hasDropped(now: StreamStatistics, before: StreamStatistics | null): boolean {
  if (now.active === false) return true;
  return before !== null && (before.remote !== now.remote || now.packets === before.packets);
}

/**
 * True when a phone proves that it receives this very stream: packets of its address, or, where the phone names another
 * other end, more packets than at the question before (null: there was none).
 */
export function provesSound(now: StreamStatistics, before: StreamStatistics | null, audio: AudioTarget): boolean {
  if (now.packets === 0) return false;
  if (now.remote === `${audio.group}/${audio.port}`) return true;
  return before !== null && before.remote === now.remote && now.packets > before.packets;
}
