import { isIPv4 } from "node:net";
import { type AudioTarget, type DeliveryItem, type DeliveryProfile, isMulticastAddress } from "#plugin-api";
import type { PhoneRequest } from "./phone-client.ts";
import { escapeXml, XML_DECLARATION } from "./xml.ts";

/** One item of a push; `priority` applies to pages only. */
export interface ExecuteItem {
  url: string;
  /** 0 now, 1 when the phone is idle, 2 only if it is idle now. */
  priority: 0 | 1 | 2;
}

/** Volumes of the profile levels. */
const VOLUMES: Readonly<Record<DeliveryProfile["volume"], string>> = {
  "As-Is": "",
  Maximum: ":100",
  Medium: ":50",
  Low: ":25",
};

/** Lowest priority whose page interrupts the display; the default priority does. */
const MAX_INTERRUPTING_PRIORITY = 5;

/** Stops every stream of the phone, also those of others. */
export const STOP_ANY_SOUND: ExecuteItem = { url: "RTPRx:Stop", priority: 0 };

/** Closes the services and thereby the page. */
export const CLEAR_PAGE: ExecuteItem = { url: "Init:Services", priority: 0 };

/** Shows a page, with the urgency of the message. */
export function showPage(url: string, item: Pick<DeliveryItem, "priority" | "class">): ExecuteItem {
  const interrupts = item.class === "emergency" || item.priority <= MAX_INTERRUPTING_PRIORITY;
  return { url, priority: interrupts ? 0 : 1 };
}

/** Plays a stream: a multicast group, or unicast from any source. */
export function playSound(audio: AudioTarget, volume: DeliveryProfile["volume"]): ExecuteItem {
  const target = isMulticast(audio) ? `RTPMRx:${audio.group}` : "RTPRx:0.0.0.0";
  return { url: `${target}:${audio.port}${VOLUMES[volume]}`, priority: 0 };
}

/** Plays a file from the phone's own server; the response arrives after playback. */
export function playFile(name: string): ExecuteItem {
  return { url: `Play:${name}`, priority: 0 };
}

/** Stops what `playSound` started. */
export function stopSound(audio: AudioTarget): ExecuteItem {
  return { url: isMulticast(audio) ? "RTPMRx:Stop" : "RTPRx:Stop", priority: 0 };
}

function isMulticast(audio: AudioTarget): boolean {
  return isIPv4(audio.group) && isMulticastAddress(audio.group);
}

/**
 * Push of at most three items, at most one of them a page. Field name and path are case-sensitive; phones execute items
 * in any order.
 * @source docs/decisions/0032-phone-push.md, Push
 */
export function pushRequest(items: readonly ExecuteItem[], authorization: string): PhoneRequest {
  const lines = items.map(({ url, priority }) => `<ExecuteItem Priority="${priority}" URL="${escapeXml(url)}"/>`);
  return executeRequest(`<CiscoIPPhoneExecute>${lines.join("")}</CiscoIPPhoneExecute>`, authorization);
}

function executeRequest(xml: string, authorization: string): PhoneRequest {
  return {
    method: "POST",
    path: "/CGI/Execute",
    headers: { Authorization: authorization, "Content-Type": "application/x-www-form-urlencoded" },
    body: `XML=${encodeURIComponent(`${XML_DECLARATION}${xml}`)}`,
  };
}

/**
 * RTP Streaming API: an alternative request to play a stream, which calls `onStopped` (a Notify URI) at its end.
 * Multicast only.
 * @source IP Phone Services Application Development Notes, RTP Streaming API
 */
export function mediaRequest(
  audio: AudioTarget,
  volume: DeliveryProfile["volume"],
  onStopped: string,
  authorization: string,
): PhoneRequest {
  const loud = VOLUMES[volume].slice(1);
  const volumeAttribute = loud === "" ? "" : ` receiveVolume="${loud}"`;
  const inner =
    "<type>audio</type><codec>G.711</codec><mode>receive</mode>" +
    `<address>${escapeXml(audio.group)}</address><port>${audio.port}</port>`;
  const stream = `<mediaStream onStopped="${escapeXml(onStopped)}"${volumeAttribute}>${inner}</mediaStream>`;
  return executeRequest(`<startMedia>${stream}</startMedia>`, authorization);
}
