import { sleep } from "../../lib/clock.ts";
import { fetchAndShowPage, showPushedPage } from "./page-display.ts";
import { clearPage, isReceiving, recordError, type SimulatorPhone, startSession } from "./phone.ts";
import { parseRtpUri, type RtpCommand } from "./rtp-uri.ts";
import { seededShuffle } from "./seeded-random.ts";
import { nextRandom, type SimulatorState, stopReceiving } from "./simulator-state.ts";
import { escapeXml, parseXml, type XmlElement } from "./xml.ts";

const MAX_ITEMS = 3;
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
/** Closes the services screen and with it the displayed page. */
const CLOSE_SERVICES = "Init:Services";
const IS_URL = /^https?:/i;
const ORDER_SALT = 0x0e;
/** Every sound file plays as long as the longest one that a phone supports (16,080 samples). */
const PLAY_MS = 2010;

/** Errors of a whole push. @source IP Phone Services Application Development Notes */
export const PUSH_ERROR = { parse: 1, authentication: 4 } as const;

interface ExecuteItem {
  url: string;
  priority: number;
}

/** Result of one item: 0 done, 1 busy, 6 internal error. */
interface ItemResult {
  status: 0 | 1 | 6;
  data: string;
}

const SUCCESS: ItemResult = { status: 0, data: "Success" };

/**
 * Executes a push (`null`: without XML field) and returns the body of the response. Items start in an unspecified order and are
 * listed in the order they end; a page counts as done when its download starts.
 */
export async function executePush(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  source: string | null,
): Promise<string> {
  const root = source === null ? null : parseXml(source);
  if (!root || source === null) return pushError(phone, PUSH_ERROR.parse, "no well-formed XML field");
  if (root.name === "startMedia") return startMedia(simulator, phone, root);
  if (root.name !== "CiscoIPPhoneExecute") return executePage(simulator, phone, source);
  const items = parseItems(root);
  if (typeof items === "string") return pushError(phone, PUSH_ERROR.parse, items);
  const answers: (ItemResult & { url: string })[] = [];
  const shuffled = seededShuffle(items, Math.floor(nextRandom(simulator, phone) * 0x7fff_ffff), ORDER_SALT);
  await Promise.all(
    shuffled.map(async (item) => {
      const result = await executeItem(simulator, phone, item);
      if (result.status !== 0) recordError(phone, `push: ${item.url}: ${result.data}`);
      answers.push({ ...result, url: item.url });
    }),
  );
  return pushResponse(phone, answers);
}

async function executePage(simulator: SimulatorState, phone: SimulatorPhone, source: string): Promise<string> {
  const shown = await showPushedPage(simulator, phone, source);
  if (!shown) return pushError(phone, PUSH_ERROR.parse, "unknown object");
  return pushResponse(phone, [{ ...SUCCESS, url: "" }]);
}

/** The items of an Execute, or the reason why the phone rejects all of them. */
function parseItems(root: XmlElement): ExecuteItem[] | string {
  const items: ExecuteItem[] = [];
  for (const child of root.children) {
    const { URL: url, Priority: priority = "0", ...unknown } = child.attributes;
    if (child.name !== "ExecuteItem" || url === undefined || Object.keys(unknown).length > 0) return "unknown element";
    if (!/^[012]$/.test(priority)) return "unknown priority";
    items.push({ url, priority: Number(priority) });
  }
  if (items.length < 1 || items.length > MAX_ITEMS) return `${items.length} items`;
  return items.filter((item) => IS_URL.test(item.url)).length > 1 ? "more than one URL" : items;
}

async function executeItem(simulator: SimulatorState, phone: SimulatorPhone, item: ExecuteItem): Promise<ItemResult> {
  if (IS_URL.test(item.url)) return executeUrl(simulator, phone, item);
  const scheme = item.url.split(":", 1)[0] ?? "";
  if (!phone.model.schemes.has(scheme) || scheme === item.url) return { status: 6, data: "URI not found" };
  if (item.url === CLOSE_SERVICES) clearPage(phone, simulator.at());
  if (scheme === "Play") await sleep(simulator.clock, PLAY_MS, simulator.signal);
  if (scheme === "RTPRx" || scheme === "RTPMRx") return executeRtp(simulator, phone, parseRtpUri(item.url));
  return SUCCESS;
}

/** Priority 0 is executed at once, 1 after the current call, 2 is dropped during a call. Internal URIs never wait. */
function executeUrl(simulator: SimulatorState, phone: SimulatorPhone, item: ExecuteItem): ItemResult {
  if (phone.callActive && item.priority === 2) return { status: 6, data: "Not idle" };
  if (phone.callActive && item.priority === 1) phone.deferredUrls.push(item.url);
  else void fetchAndShowPage(simulator, phone, item.url);
  return SUCCESS;
}

async function executeRtp(simulator: SimulatorState, phone: SimulatorPhone, command: RtpCommand): Promise<ItemResult> {
  if (command.kind === "invalid") return { status: 6, data: command.message };
  if (command.kind === "stop") {
    const unicast = phone.session?.source.address === phone.address;
    if (command.cast === "any" || !unicast) stopReceiving(simulator, phone);
    return SUCCESS;
  }
  phone.starts++;
  if (isReceiving(phone)) return { status: 1, data: "Rx already active" };
  phone.joining = true;
  try {
    const { sources } = simulator;
    const source = await (command.cast === "multicast"
      ? sources.openMulticast(command.address, command.port)
      : sources.openUnicast(phone.address, command.port, command.address));
    startSession(phone, { source, joinedAt: simulator.at(), leftAt: null });
    if (!phone.online) stopReceiving(simulator, phone);
    return SUCCESS;
  } catch (error) {
    return { status: 6, data: error instanceof Error ? error.message : String(error) };
  } finally {
    phone.joining = false;
  }
}

/** A multicast stream started by the RTP Streaming API; the same rules apply. @source IP Phone Services Application Development Notes */
async function startMedia(simulator: SimulatorState, phone: SimulatorPhone, root: XmlElement): Promise<string> {
  const [stream] = root.children;
  const textOf = (name: string): string => stream?.children.find((child) => child.name === name)?.text.trim() ?? "";
  const uri = `RTPMRx:${textOf("address")}:${textOf("port")}`;
  const isSupported = phone.model.schemes.has("RTPMRx") && stream?.name === "mediaStream";
  if (!isSupported || textOf("type") !== "audio" || textOf("codec") !== "G.711" || textOf("mode") !== "receive")
    return pushError(phone, PUSH_ERROR.parse, "no stream that it can play");
  const { status, data } = await executeRtp(simulator, phone, parseRtpUri(uri));
  if (status !== 0) return pushError(phone, PUSH_ERROR.parse, data);
  phone.stoppedNotifyUri = stream.attributes.onStopped ?? null;
  return `${DECLARATION}<startMediaResponse><mediaStream id="${phone.index}"/></startMediaResponse>`;
}

/** Error response of a whole push, also added to the phone's error list. */
export function pushError(phone: SimulatorPhone, number: number, message: string): string {
  recordError(phone, `push: error ${number}, ${message}`);
  return `${DECLARATION}<CiscoIPPhoneError Number="${number}"/>`;
}

/** A single item that found the phone busy yields the error of the whole push; among several items it has its own status. */
function pushResponse(phone: SimulatorPhone, answers: readonly (ItemResult & { url: string })[]): string {
  if (!phone.model.sendsResponse) return "";
  if (answers.length === 1 && answers[0]?.status === 1) return `${DECLARATION}<CiscoIPPhoneError Number="1"/>`;
  const items = answers.map(
    (result) =>
      `<ResponseItem Status="${result.status}" Data="${escapeXml(result.data)}" URL="${escapeXml(result.url)}"/>`,
  );
  return `${DECLARATION}<CiscoIPPhoneResponse>${items.join("")}</CiscoIPPhoneResponse>`;
}
