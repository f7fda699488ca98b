import type { ApiDevice } from "./api-device.ts";
import type { ResponseLatency } from "./latency.ts";
import { modelForIndex, type SimulatorPhoneModel } from "./phone-models.ts";
import type { ListeningSession } from "./reception-analysis.ts";

/** Maximum number of pages, errors and earlier streams that a phone keeps; the oldest are dropped. */
const MAX_ENTRIES = 50;

/**
 * A displayed page; `at`: ms of the simulator's clock; `url` is null if its XML was pushed directly, `clearedAt` is null until
 * it is closed.
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

/** What the call manager has set for a phone. */
export interface PhoneSetup {
  webAccess: "full" | "read-only" | "off";
  /** Null: none. Undefined: the one of all phones. */
  authenticationUrl?: string | null;
  /** How the configuration stands on the TFTP server. */
  file: "plain" | "signed" | "encrypted" | "none";
}

/** One simulated phone. An idle one has no socket and no timer. */
export interface SimulatorPhone {
  readonly index: number;
  readonly name: string;
  readonly address: string;
  readonly model: SimulatorPhoneModel;
  /** Accepts everything and plays nothing. */
  readonly mute: boolean;
  online: boolean;
  setup: PhoneSetup;
  callActive: boolean;
  /** Open HTTP connections to the phone. */
  connections: number;
  /** Response times of this phone; null: those of all phones. */
  latency: ResponseLatency | null;
  /** Number of random draws so far, which selects the next one. */
  randomDraws: number;
  /** A stream is being set up; counts as active for the busy rule. */
  joining: boolean;
  /** The current stream, or the last one. */
  session: ListeningSession | null;
  /** Notify URI of a stream started by the RTP Streaming API; called when the stream ends. */
  stoppedNotifyUri: string | null;
  /** Earlier streams, oldest first. */
  earlierSessions: ListeningSession[];
  /** Pages with priority 1 that wait for the end of the call. */
  deferredUrls: string[];
  pushes: number;
  /** Number of commands to play a stream. */
  starts: number;
  authCalls: number;
  pages: ShownPage[];
  errors: string[];
}

/** The n-th phone, online and idle. */
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
    setup: { webAccess: "full", file: "plain" },
    callActive: false,
    connections: 0,
    latency: null,
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

/** 250 phones per subnet from 127.16.0.1 on, away from addresses that ordinary programs use. */
function loopbackAddress(index: number): string {
  const subnet = Math.floor(index / 250);
  return `127.${16 + Math.floor(subnet / 250)}.${subnet % 250}.${1 + (index % 250)}`;
}

/** True while a stream is received or set up. */
export function isReceiving(phone: SimulatorPhone): boolean {
  return phone.joining || (phone.session !== null && phone.session.leftAt === null);
}

/** Starts listening to a source; the previous session becomes history. */
export function startSession(phone: SimulatorPhone, listening: ListeningSession): void {
  if (phone.session) appendBounded(phone.earlierSessions, phone.session);
  phone.session = listening;
}

/** Adds a displayed page; drops the oldest entry of a full list. */
export function recordShownPage(phone: SimulatorPhone, page: ShownPage): void {
  appendBounded(phone.pages, page);
}

/** Closes the displayed page, if any. */
export function clearPage(phone: SimulatorPhone, at: number): void {
  const shown = phone.pages.at(-1);
  if (shown) shown.clearedAt ??= at;
}

/** Adds an error message; drops the oldest entry of a full list. */
export function recordError(phone: SimulatorPhone, message: string): void {
  appendBounded(phone.errors, message);
}

function appendBounded<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > MAX_ENTRIES) entries.shift();
}

/** Clears all records; a stream in progress continues. */
export function clearRecords(phone: SimulatorPhone): void {
  if (!isReceiving(phone)) phone.session = null;
  phone.earlierSessions = [];
  phone.pushes = 0;
  phone.starts = 0;
  phone.authCalls = 0;
  phone.pages = [];
  phone.errors = [];
}

/** The phone as a device for the API. @source docs/decisions/0012-extensions-and-endpoints.md */
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
