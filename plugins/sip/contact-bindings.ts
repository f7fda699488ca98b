import type { Hop } from "./user-agent/hop.ts";
import type { SipHeaders } from "./user-agent/sip-message.ts";
import {
  formatSipUri,
  isEquivalentUri,
  type NameAddress,
  parseNameAddress,
  type SipUri,
} from "./user-agent/sip-uri.ts";

/** Where a registered device is called. */
export interface SipBinding {
  uri: SipUri;
  hop: Hop;
}

/** A Contact of a REGISTER. */
export interface RegisteredContact {
  address: NameAddress;
  /** 0 removes it. */
  seconds: number;
  /** Preference from 0 to 1. */
  q: number;
  /** Identifies the device, and one of its connections. @source RFC 5626 §4.1 */
  instance: string | null;
  regId: string | null;
}

/** A binding with what is needed to find and order it. */
export interface ContactBinding extends SipBinding, Omit<RegisteredContact, "address" | "seconds"> {
  contact: string;
  callId: string;
  sequence: number;
  /** Monotonic ms. */
  updatedAt: number;
  until: number;
}

/** Contacts per REGISTER, and bindings per account: beyond that the one that was refreshed longest ago is dropped. */
export const MAX_BINDINGS = 8;

/** Expiry limits in seconds: a device that is gone is detected within the hour; a shorter expiry only adds traffic. */
const MAX_EXPIRES_S = 3_600;
export const MIN_EXPIRES_S = 10;
const MAX_INSTANCE_LENGTH = 200;

/** Parses the contacts of a REGISTER; null if one is invalid or there are too many. @source RFC 3261 §10.3 step 7 */
export function parseContacts(values: readonly string[], expires: string | null): RegisteredContact[] | null {
  const contacts = values.map((value) => parseContact(value, expires));
  return contacts.length <= MAX_BINDINGS && contacts.every((contact) => contact !== null) ? contacts : null;
}

function parseContact(value: string, expires: string | null): RegisteredContact | null {
  const address = parseNameAddress(value);
  if (!address) return null;
  const { params } = address;
  const instance = params.get("+sip.instance") ?? "";
  const regId = params.get("reg-id") ?? "";
  const isNamed = instance !== "" && instance.length <= MAX_INSTANCE_LENGTH;
  return {
    address,
    seconds: expiresIn(params.get("expires") ?? expires),
    q: preferenceIn(params.get("q")),
    instance: isNamed ? instance : null,
    regId: isNamed && /^\d{1,10}$/.test(regId) ? regId : null,
  };
}

/** An expiry that is missing, malformed or too long is the maximum. @source RFC 3261 §10.2.1.1, §20.19 */
function expiresIn(text: string | null): number {
  const given = text?.trim() ?? "";
  return /^\d+$/.test(given) ? Math.min(MAX_EXPIRES_S, Number(given)) : MAX_EXPIRES_S;
}

function preferenceIn(text: string | undefined): number {
  return text !== undefined && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 1;
}

/** True if a contact renews or removes this binding. @source RFC 3261 §10.3, RFC 5626 §6 */
export function isSameBinding(
  known: Pick<ContactBinding, "uri" | "instance" | "regId">,
  { address, instance, regId }: Pick<RegisteredContact, "address" | "instance" | "regId">,
): boolean {
  if (instance !== null && known.instance === instance) return known.regId === regId;
  return isEquivalentUri(known.uri, address.uri);
}

/** Orders bindings for a call: by preference, then the newest first. */
export function compareBindings(one: ContactBinding, other: ContactBinding): number {
  return other.q - one.q || other.updatedAt - one.updatedAt;
}

/** Formats bindings for the response, with what is left of their expiry. */
export function formatBindings(bindings: readonly ContactBinding[], now: number): SipHeaders {
  return bindings.map(({ contact, until, q, instance, regId }) => {
    const params = [
      `expires=${Math.max(1, Math.round((until - now) / 1_000))}`,
      ...(q === 1 ? [] : [`q=${q}`]),
      ...(instance === null ? [] : [`+sip.instance="${instance.replace(/["\\]/g, "\\$&")}"`]),
      ...(regId === null ? [] : [`reg-id=${regId}`]),
    ];
    return ["Contact", `<${contact}>;${params.join(";")}`];
  });
}

/** The contact as it is called and shown. */
export function formatContact({ address }: RegisteredContact): string {
  return formatSipUri(address.uri);
}
