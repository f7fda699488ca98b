import type { DeliveryItem } from "#plugin-api";
import type { Account } from "../accounts.ts";
import type { Credentials } from "../agent/digest.ts";
import { type Hop, hopTo, SipFault } from "../agent/hop.ts";
import type { Headers } from "../agent/message.ts";
import { readUri, type SipUri } from "../agent/uri.ts";
import type { Registrar } from "../registrar.ts";

/** Where a device is called, and as whom. */
export interface Destination {
  uri: SipUri;
  hop: Hop;
  credentials: Credentials | null;
}

/** What finding devices needs. */
export interface Directory {
  registrar: Pick<Registrar, "find">;
  accounts: ReadonlyMap<string, Account>;
  /** For whoever asks and has no account here. */
  credentials: Credentials | null;
}

const SCHEME = "sip:";

/**
 * Where a device is: where it has registered, else where its `SipUri` or its identifier says, else where it had registered
 * when the appliance was started. Rejects with SipFault.
 */
export async function findDevice(
  { deviceIdentifier, attributes }: DeliveryItem["device"],
  directory: Directory,
): Promise<Destination> {
  const name = deviceIdentifier.slice(SCHEME.length);
  const credentials = directory.accounts.get(name) ?? directory.credentials;
  const binding = directory.registrar.find(name);
  if (binding) return { ...binding, credentials };
  const own = name.includes("@") ? deviceIdentifier : undefined;
  const given = attributes.SipUri || own || attributes.RegisteredContact;
  if (!given) throw new SipFault("it is not registered");
  const uri = readUri(given);
  if (!uri) throw new SipFault(`its address ${given.slice(0, 100)} is no SIP address`);
  return { uri, hop: await hopTo(uri), credentials };
}

const LONGEST_NAME = 60;

/**
 * What makes a device answer by itself and tells it what the call is about. All the ways that are in use at once: a device
 * passes over what it does not know. @source RFC 5373 (Answer-Mode), RFC 3261 §20.4, §20.9, §20.26
 */
export function pagingHeaders({ class: urgency, device }: DeliveryItem, address: string): Headers {
  const alert = (device.attributes.AlertInfo ?? "").replace(/\p{Cc}+/gu, " ").trim();
  return [
    ["Call-Info", `<sip:${address}>;answer-after=0`],
    ["Alert-Info", alert || `<http://${address}>;info=alert-autoanswer;delay=0`],
    ["Answer-Mode", "Auto"],
    ["Priority", urgency === "emergency" ? "emergency" : "normal"],
  ];
}

/** What displays show as the caller: the words of the message. */
export function callerName({ text }: DeliveryItem, otherwise: string): string {
  return printable(text.short).slice(0, LONGEST_NAME) || otherwise;
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}"\\<>]+/gu, " ").trim();
}
