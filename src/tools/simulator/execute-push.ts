import { sleep } from "../../lib/clock.ts";
import { fetchAndShowPage, showPushedPage } from "./page-display.ts";
import { clearPage, isReceiving, recordError, type SimulatorPhone, startSession } from "./phone.ts";
import { parseRtpUri, type RtpCommand } from "./rtp-uri.ts";
import { seededShuffle } from "./seeded-random.ts";
import { nextRandom, type SimulatorState, stopReceiving } from "./simulator-state.ts";
import { escapeXml, parseXml, type XmlElement } from "./xml.ts";

const MAX_ITEMS = 3;
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
/** Leaves the services and with them the page that is shown. */
const CLOSE_SERVICES = "Init:Services";
const IS_URL = /^https?:/i;
const ORDER_SALT = 0x0e;
/** own choice: every sound file lasts as long as the longest one a phone takes (16,080 samples). */
const PLAY_MS = 2010;

/** The whole-push faults of a phone. @source IP Phone Services Application Development Notes */
export const PUSH_ERROR = { parse: 1, authentication: 4 } as const;

interface ExecuteItem {
  url: string;
  priority: number;
}

/** How one item went: 0 done, 1 busy, 6 internal. */
interface ItemResult {
  status: 0 | 1 | 6;
  data: string;
}

const SUCCESS: ItemResult = { status: 0, data: "Success" };

/**
 * Obeys what was pushed (`null`: there was no XML field) and gives the body of the answer. Items start in an order
 * that nobody may rely on, and are answered in the order they end; a page counts as done when its fetching begins.
 */
export async function executePush(
  campus: SimulatorState,
  phone: SimulatorPhone,
  source: string | null,
): Promise<string> {
  const root = source === null ? null : parseXml(source);
  if (!root || source === null) return pushError(phone, PUSH_ERROR.parse, "no well-formed XML field");
  if (root.name === "startMedia") return startMedia(campus, phone, root);
  if (root.name !== "CiscoIPPhoneExecute") return executePage(campus, phone, source);
  const items = parseItems(root);
  if (typeof items === "string") return pushError(phone, PUSH_ERROR.parse, items);
  const answers: (ItemResult & { url: string })[] = [];
  const order = seededShuffle(items, Math.floor(nextRandom(campus, phone) * 0x7fff_ffff), ORDER_SALT);
  await Promise.all(
    order.map(async (item) => {
      const answer = await executeItem(campus, phone, item);
      if (answer.status !== 0) recordError(phone, `push: ${item.url}: ${answer.data}`);
      answers.push({ ...answer, url: item.url });
    }),
  );
  return pushResponse(phone, answers);
}

async function executePage(campus: SimulatorState, phone: SimulatorPhone, source: string): Promise<string> {
  const shown = await showPushedPage(campus, phone, source);
  if (!shown) return pushError(phone, PUSH_ERROR.parse, "unknown object");
  return pushResponse(phone, [{ ...SUCCESS, url: "" }]);
}

/** The items of an Execute, or in words why the phone refuses the whole of it. */
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

async function executeItem(campus: SimulatorState, phone: SimulatorPhone, item: ExecuteItem): Promise<ItemResult> {
  if (IS_URL.test(item.url)) return executeUrl(campus, phone, item);
  const scheme = item.url.split(":", 1)[0] ?? "";
  if (!phone.model.schemes.has(scheme) || scheme === item.url) return { status: 6, data: "URI not found" };
  if (item.url === CLOSE_SERVICES) clearPage(phone, campus.at());
  if (scheme === "Play") await sleep(campus.clock, PLAY_MS, campus.signal);
  if (scheme === "RTPRx" || scheme === "RTPMRx") return executeRtp(campus, phone, parseRtpUri(item.url));
  return SUCCESS;
}

/** Priority 0 shows at once, 1 waits for the end of a call, 2 is dropped during one. Internal URIs never wait. */
function executeUrl(campus: SimulatorState, phone: SimulatorPhone, item: ExecuteItem): ItemResult {
  if (phone.callActive && item.priority === 2) return { status: 6, data: "Not idle" };
  if (phone.callActive && item.priority === 1) phone.deferredUrls.push(item.url);
  else void fetchAndShowPage(campus, phone, item.url);
  return SUCCESS;
}

async function executeRtp(campus: SimulatorState, phone: SimulatorPhone, order: RtpCommand): Promise<ItemResult> {
  if (order.kind === "invalid") return { status: 6, data: order.words };
  if (order.kind === "stop") {
    const unicast = phone.session?.source.address === phone.address;
    if (order.cast === "any" || !unicast) stopReceiving(campus, phone);
    return SUCCESS;
  }
  phone.starts++;
  if (isReceiving(phone)) return { status: 1, data: "Rx already active" };
  phone.joining = true;
  try {
    const { sources } = campus;
    const source = await (order.cast === "multicast"
      ? sources.openMulticast(order.address, order.port)
      : sources.openUnicast(phone.address, order.port, order.address));
    startSession(phone, { source, joinedAt: campus.at(), leftAt: null });
    if (!phone.online) stopReceiving(campus, phone);
    return SUCCESS;
  } catch (error) {
    return { status: 6, data: error instanceof Error ? error.message : String(error) };
  } finally {
    phone.joining = false;
  }
}

/** A multicast stream by the RTP Streaming API, which the same rules hold for. @source IP Phone Services Application Development Notes */
async function startMedia(campus: SimulatorState, phone: SimulatorPhone, root: XmlElement): Promise<string> {
  const [stream] = root.children;
  const textOf = (name: string): string => stream?.children.find((child) => child.name === name)?.text.trim() ?? "";
  const uri = `RTPMRx:${textOf("address")}:${textOf("port")}`;
  const known = phone.model.schemes.has("RTPMRx") && stream?.name === "mediaStream";
  if (!known || textOf("type") !== "audio" || textOf("codec") !== "G.711" || textOf("mode") !== "receive")
    return pushError(phone, PUSH_ERROR.parse, "no stream that it can play");
  const { status, data } = await executeRtp(campus, phone, parseRtpUri(uri));
  if (status !== 0) return pushError(phone, PUSH_ERROR.parse, data);
  phone.stoppedNotifyUri = stream.attributes.onStopped ?? null;
  return `${DECLARATION}<startMediaResponse><mediaStream id="${phone.index}"/></startMediaResponse>`;
}

/** A whole-push fault as the phone words it, noted in its error list. */
export function pushError(phone: SimulatorPhone, number: number, words: string): string {
  recordError(phone, `push: error ${number}, ${words}`);
  return `${DECLARATION}<CiscoIPPhoneError Number="${number}"/>`;
}

/** own choice: a lone item that found the phone busy is told by the whole-push error, among others by its status. */
function pushResponse(phone: SimulatorPhone, answers: readonly (ItemResult & { url: string })[]): string {
  if (!phone.model.sendsResponse) return "";
  if (answers.length === 1 && answers[0]?.status === 1) return `${DECLARATION}<CiscoIPPhoneError Number="1"/>`;
  const items = answers.map(
    (answer) =>
      `<ResponseItem Status="${answer.status}" Data="${escapeXml(answer.data)}" URL="${escapeXml(answer.url)}"/>`,
  );
  return `${DECLARATION}<CiscoIPPhoneResponse>${items.join("")}</CiscoIPPhoneResponse>`;
}
