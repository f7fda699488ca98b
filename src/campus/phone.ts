import type { Device } from "./device.ts";
import type { Listening } from "./heard.ts";
import { modelOf, type PhoneModel } from "./models.ts";

/** Entries a phone keeps of pages, of errors and of earlier streams; the oldest fall out. */
const KEPT_ENTRIES = 50;

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
export interface Phone {
  readonly index: number;
  readonly name: string;
  readonly address: string;
  readonly model: PhoneModel;
  /** Accepts everything and hears nothing. */
  readonly mute: boolean;
  online: boolean;
  callActive: boolean;
  /** Open HTTP connections to it. */
  connections: number;
  /** Random draws made so far; numbers the next one. */
  draws: number;
  /** An Rx is being set up; counts as active for the busy rule. */
  joining: boolean;
  /** The stream being received, or the last one. */
  listening: Listening | null;
  /** What to do when that one ends, where it was asked for by the RTP Streaming API: a Notify URI. */
  onStopped: string | null;
  /** Those before it, oldest first. */
  earlier: Listening[];
  /** Pages with priority 1 that wait for the end of the call. */
  waitingUrls: string[];
  pushes: number;
  /** Orders to play a stream. */
  starts: number;
  authCalls: number;
  pages: ShownPage[];
  errors: string[];
}

/** The n-th phone, on line and idle. */
export function newPhone(index: number, traits: { online: boolean; mute: boolean; rtp: boolean }): Phone {
  return {
    index,
    name: `SEP02CA${index.toString(16).toUpperCase().padStart(8, "0")}`,
    address: addressOf(index),
    model: modelOf(index, traits.rtp),
    mute: traits.mute,
    online: traits.online,
    callActive: false,
    connections: 0,
    draws: 0,
    joining: false,
    listening: null,
    onStopped: null,
    earlier: [],
    waitingUrls: [],
    pushes: 0,
    starts: 0,
    authCalls: 0,
    pages: [],
    errors: [],
  };
}

/** 250 phones a subnet from 127.16.0.1 on, clear of the addresses that ordinary programs use. */
function addressOf(index: number): string {
  const subnet = Math.floor(index / 250);
  return `127.${16 + Math.floor(subnet / 250)}.${subnet % 250}.${1 + (index % 250)}`;
}

/** True while a stream is being received or set up. */
export function isReceiving(phone: Phone): boolean {
  return phone.joining || (phone.listening !== null && phone.listening.leftAt === null);
}

/** Begins a stay at a source; the one before becomes history. */
export function listenTo(phone: Phone, listening: Listening): void {
  if (phone.listening) keep(phone.earlier, phone.listening);
  phone.listening = listening;
}

/** Notes a page; the oldest entry falls out of a full list. */
export function notePage(phone: Phone, page: ShownPage): void {
  keep(phone.pages, page);
}

/** Closes the page that is being shown, if there is one. */
export function clearPage(phone: Phone, at: number): void {
  const shown = phone.pages.at(-1);
  if (shown) shown.clearedAt ??= at;
}

/** Notes in words what went wrong at the phone; the oldest entry falls out of a full list. */
export function noteError(phone: Phone, words: string): void {
  keep(phone.errors, words);
}

function keep<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > KEPT_ENTRIES) entries.shift();
}

/** Forgets what was recorded; a stream that is being received goes on. */
export function forgetRecords(phone: Phone): void {
  if (!isReceiving(phone)) phone.listening = null;
  phone.earlier = [];
  phone.pushes = 0;
  phone.starts = 0;
  phone.authCalls = 0;
  phone.pages = [];
  phone.errors = [];
}

/** The phone as a device of the API, ready to be POSTed. @source interfaces.md, Extensions, endpoints, devices */
export function phoneDevice(phone: Phone, httpPort: number, authUrl: string | null): Device {
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
