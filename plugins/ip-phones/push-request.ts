import { isIPv4 } from "node:net";
import type { AudioTarget, DeliveryItem, DeliveryProfile } from "#plugin-api";
import type { PhoneRequest } from "./phone-client.ts";
import { escapeXml, XML_DECLARATION } from "./xml.ts";

/** One thing that a phone is asked to do; `priority` counts for pages only. */
export interface ExecuteItem {
  url: string;
  /** 0 at once, 1 when the phone is idle, 2 only if it is idle now. */
  priority: 0 | 1 | 2;
}

/** own choice: the fields' scale has no numbers. */
const VOLUMES: Readonly<Record<DeliveryProfile["volume"], string>> = {
  "As-Is": "",
  Maximum: ":100",
  Medium: ":50",
  Low: ":25",
};

/** Least urgent priority whose page interrupts what the display shows; own choice: the default priority does. */
const MAX_INTERRUPTING_PRIORITY = 5;

/** Ends every stream a phone receives, whoever began it. */
export const STOP_ANY_SOUND: ExecuteItem = { url: "RTPRx:Stop", priority: 0 };

/** Leaves the services, and with them the page on the display. */
export const CLEAR_PAGE: ExecuteItem = { url: "Init:Services", priority: 0 };

/** Asks the phone to fetch and show a page, as urgently as the message is. */
export function showPage(url: string, item: Pick<DeliveryItem, "priority" | "class">): ExecuteItem {
  const interrupts = item.class === "emergency" || item.priority <= MAX_INTERRUPTING_PRIORITY;
  return { url, priority: interrupts ? 0 : 1 };
}

/** Asks the phone to play a stream: that of a group, or one sent to its own address by whomever. */
export function playSound(audio: AudioTarget, volume: DeliveryProfile["volume"]): ExecuteItem {
  const target = isMulticast(audio) ? `RTPMRx:${audio.group}` : "RTPRx:0.0.0.0";
  return { url: `${target}:${audio.port}${VOLUMES[volume]}`, priority: 0 };
}

/** Asks the phone to play a file that it gets from its own server; it answers when that has been played. */
export function playFile(name: string): ExecuteItem {
  return { url: `Play:${name}`, priority: 0 };
}

/** Asks the phone to end what `playSound` began. */
export function stopSound(audio: AudioTarget): ExecuteItem {
  return { url: isMulticast(audio) ? "RTPMRx:Stop" : "RTPRx:Stop", priority: 0 };
}

function isMulticast(audio: AudioTarget): boolean {
  const first = Number(audio.group.split(".", 1)[0]);
  return isIPv4(audio.group) && first >= 224 && first <= 239;
}

/**
 * The push of at most three items, one of them at most a page. Field name and path are case-sensitive; the order in which
 * a phone obeys is its own. @source protocols.md 3
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
 * The other way to have a stream played: the RTP Streaming API, which tells `onStopped` (a Notify URI) when the stream
 * ends. Multicast alone. @source IP Phone Services Application Development Notes, RTP Streaming API
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
