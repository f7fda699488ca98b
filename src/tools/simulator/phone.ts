import type { ApiDevice } from "./api-device.ts";
import { modelForIndex, type SimulatorPhoneModel } from "./phone-models.ts";
import type { ListeningSession } from "./reception-analysis.ts";

/** Entries a phone keeps of pages, of errors and of earlier streams; the oldest fall out. */
const MAX_ENTRIES = 50;

/**
 * A page as it was shown, at `at` in ms of the campus's clock; `url` null when it was pushed directly, `clearedAt` null
 * unless somebody closed it.
 */
export interface ShownPage {
  at: number;
  clearedAt: number | null;
  url: string | null;
  type: string;
  title: string;
  prompt: string;
  text: string;
  softKeys: { name: string; url: string }[];
  image: { width: number; height: number; bytes: number } | null;
}

/** One simulated phone. Idle, it holds no socket and no timer. */
export interface SimulatorPhone {
  readonly index: number;
  readonly name: string;
  readonly address: string;
  readonly model: SimulatorPhoneModel;
  /** Accepts everything and hears nothing. */
  readonly mute: boolean;
  online: boolean;
  callActive: boolean;
  /** Open HTTP connections to it. */
  connections: number;
  /** Random draws made so far; numbers the next one. */
  randomDraws: number;
  /** An Rx is being set up; counts as active for the busy rule. */
  joining: boolean;
  /** The stream being received, or the last one. */
  session: ListeningSession | null;
  /** What to do when that one ends, where it was asked for by the RTP Streaming API: a Notify URI. */
  stoppedNotifyUri: string | null;
  /** Those before it, oldest first. */
  earlierSessions: ListeningSession[];
  /** Pages with priority 1 that wait for the end of the call. */
  deferredUrls: string[];
  pushes: number;
  /** Orders to play a stream. */
  starts: number;
  authCalls: number;
  pages: ShownPage[];
  errors: string[];
}

/** The n-th phone, on line and idle. */
export function createSimulatorPhone(
  index: number,
  traits: { online: boolean; mute: boolean; rtp: boolean },
): SimulatorPhone {
  return {
    index,
    name: `SEP02CA${index.toString(16).toUpperCase().padStart(8, "0")}`,
    address: loopbackAddress(index),
    model: modelForIndex(index, traits.rtp),
    mute: traits.mute,
    online: traits.online,
    callActive: false,
    connections: 0,
    randomDraws: 0,
    joining: false,
    session: null,
    stoppedNotifyUri: null,
    earlierSessions: [],
    deferredUrls: [],
    pushes: 0,
    starts: 0,
    authCalls: 0,
    pages: [],
    errors: [],
  };
}

/** 250 phones a subnet from 127.16.0.1 on, clear of the addresses that ordinary programs use. */
function loopbackAddress(index: number): string {
  const subnet = Math.floor(index / 250);
  return `127.${16 + Math.floor(subnet / 250)}.${subnet % 250}.${1 + (index % 250)}`;
}

/** True while a stream is being received or set up. */
export function isReceiving(phone: SimulatorPhone): boolean {
  return phone.joining || (phone.session !== null && phone.session.leftAt === null);
}

/** Begins a stay at a source; the one before becomes history. */
export function startSession(phone: SimulatorPhone, listening: ListeningSession): void {
  if (phone.session) appendBounded(phone.earlierSessions, phone.session);
  phone.session = listening;
}

/** Notes a page; the oldest entry falls out of a full list. */
export function recordShownPage(phone: SimulatorPhone, page: ShownPage): void {
  appendBounded(phone.pages, page);
}

/** Closes the page that is being shown, if there is one. */
export function clearPage(phone: SimulatorPhone, at: number): void {
  const shown = phone.pages.at(-1);
  if (shown) shown.clearedAt ??= at;
}

/** Notes in words what went wrong at the phone; the oldest entry falls out of a full list. */
export function recordError(phone: SimulatorPhone, words: string): void {
  appendBounded(phone.errors, words);
}

function appendBounded<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > MAX_ENTRIES) entries.shift();
}

/** Forgets what was recorded; a stream that is being received goes on. */
export function clearRecords(phone: SimulatorPhone): void {
  if (!isReceiving(phone)) phone.session = null;
  phone.earlierSessions = [];
  phone.pushes = 0;
  phone.starts = 0;
  phone.authCalls = 0;
  phone.pages = [];
  phone.errors = [];
}

/** The phone as a device of the API, ready to be POSTed. @source interfaces.md, Extensions, endpoints, devices */
export function phoneAsDevice(phone: SimulatorPhone, httpPort: number, authUrl: string | null): ApiDevice {
  const attributes: Record<string, string> = {
    Name: phone.name,
    IPAddress: phone.address,
    HttpPort: String(httpPort),
    DeviceProduct: phone.model.product,
    CallManagerDevicePool: `Floor-${1 + Math.floor(phone.index / 50)}`,
  };
  if (authUrl !== null) attributes.AuthenticationUrl = authUrl;
  return { type: "phones", deviceIdentifier: phone.name, description: `Room ${101 + phone.index}`, attributes };
}
