import type { DeliveryItem } from "#plugin-api";
import type { SipBinding } from "../contact-bindings.ts";
import type { SipRegistrar } from "../registrar.ts";
import { sentence } from "../sentences.ts";
import type { SipAccount } from "../sip-accounts.ts";
import type { SipCredentials } from "../user-agent/digest.ts";
import { type Hop, resolveHop, SipError } from "../user-agent/hop.ts";
import type { SipHeaders } from "../user-agent/sip-message.ts";
import { parseSipUri, type SipUri } from "../user-agent/sip-uri.ts";

/** Address and credentials of a device. */
export interface SipDestination {
  uri: SipUri;
  hop: Hop;
  credentials: SipCredentials | null;
}

export interface SipDirectory {
  registrar: Pick<SipRegistrar, "bindingsOf" | "problemOf">;
  accounts: ReadonlyMap<string, SipAccount>;
  /** For servers and devices without an own account. */
  credentials: SipCredentials | null;
}

const SCHEME = "sip:";

/**
 * Resolves a device: its registrations, the one to call first in front, else its `SipUri` or identifier, else its last
 * known contact from before the restart. Rejects with SipError.
 */
export async function resolveDestinations(
  { deviceIdentifier, attributes }: DeliveryItem["device"],
  directory: SipDirectory,
): Promise<[SipDestination, ...SipDestination[]]> {
  const name = deviceIdentifier.slice(SCHEME.length);
  const credentials = directory.accounts.get(name) ?? directory.credentials;
  const [first, ...others] = directory.registrar.bindingsOf(name);
  if (first) return [{ ...pathOf(first), credentials }, ...others.map((each) => ({ ...pathOf(each), credentials }))];
  const own = name.includes("@") ? deviceIdentifier : undefined;
  const given = attributes.SipUri || own || attributes.RegisteredContact;
  if (!given) {
    const problem = directory.registrar.problemOf(name);
    throw new SipError(problem === null ? sentence("not-registered") : sentence("not-registered-because", { problem }));
  }
  const uri = parseSipUri(given);
  if (!uri) throw new SipError(sentence("uri-invalid", { uri: given.slice(0, 100) }));
  return [{ uri, hop: await resolveHop(uri), credentials }];
}

function pathOf({ uri, hop }: SipBinding): SipBinding {
  return { uri, hop };
}

const MAX_NAME_LENGTH = 60;

/**
 * Headers that trigger auto-answer and describe the call. All common variants are sent; devices ignore unknown headers.
 * @source RFC 5373 (Answer-Mode), RFC 3261 §20.4, §20.9, §20.26
 */
export function pagingHeaders({ class: urgency, device }: DeliveryItem, address: string): SipHeaders {
  const alert = (device.attributes.AlertInfo ?? "").replace(/\p{Cc}+/gu, " ").trim();
  return [
    ["Call-Info", `<sip:${address}>;answer-after=0`],
    ["Alert-Info", alert || `<http://${address}>;info=alert-autoanswer;delay=0`],
    ["Answer-Mode", "Auto"],
    ["Priority", urgency === "emergency" ? "emergency" : "normal"],
  ];
}

/** Caller name on displays: the short text of the message. */
export function callerNameFor({ text }: DeliveryItem, fallback: string): string {
  return printable(text.short).slice(0, MAX_NAME_LENGTH) || fallback;
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}"\\<>]+/gu, " ").trim();
}
