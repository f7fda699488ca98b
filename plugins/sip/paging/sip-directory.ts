import type { DeliveryItem } from "#plugin-api";
import type { SipRegistrar } from "../registrar.ts";
import type { SipAccount } from "../sip-accounts.ts";
import type { SipCredentials } from "../user-agent/digest.ts";
import { type Hop, resolveHop, SipError } from "../user-agent/hop.ts";
import type { SipHeaders } from "../user-agent/sip-message.ts";
import { parseSipUri, type SipUri } from "../user-agent/sip-uri.ts";

/** Where a device is called, and as whom. */
export interface SipDestination {
  uri: SipUri;
  hop: Hop;
  credentials: SipCredentials | null;
}

/** What finding devices needs. */
export interface SipDirectory {
  registrar: Pick<SipRegistrar, "findBinding">;
  accounts: ReadonlyMap<string, SipAccount>;
  /** For whoever asks and has no account here. */
  credentials: SipCredentials | null;
}

const SCHEME = "sip:";

/**
 * Where a device is: where it has registered, else where its `SipUri` or its identifier says, else where it had registered
 * when the appliance was started. Rejects with SipFault.
 */
export async function resolveDestination(
  { deviceIdentifier, attributes }: DeliveryItem["device"],
  directory: SipDirectory,
): Promise<SipDestination> {
  const name = deviceIdentifier.slice(SCHEME.length);
  const credentials = directory.accounts.get(name) ?? directory.credentials;
  const binding = directory.registrar.findBinding(name);
  if (binding) return { ...binding, credentials };
  const own = name.includes("@") ? deviceIdentifier : undefined;
  const given = attributes.SipUri || own || attributes.RegisteredContact;
  if (!given) throw new SipError("it is not registered");
  const uri = parseSipUri(given);
  if (!uri) throw new SipError(`its address ${given.slice(0, 100)} is no SIP address`);
  return { uri, hop: await resolveHop(uri), credentials };
}

const MAX_NAME_LENGTH = 60;

/**
 * What makes a device answer by itself and tells it what the call is about. All the ways that are in use at once: a device
 * passes over what it does not know. @source RFC 5373 (Answer-Mode), RFC 3261 §20.4, §20.9, §20.26
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

/** What displays show as the caller: the words of the message. */
export function callerNameFor({ text }: DeliveryItem, otherwise: string): string {
  return printable(text.short).slice(0, MAX_NAME_LENGTH) || otherwise;
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}"\\<>]+/gu, " ").trim();
}
