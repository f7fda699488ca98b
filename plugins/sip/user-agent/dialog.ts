import { type Hop, resolveHop } from "./hop.ts";
import { firstHeader, headerValues, type SipResponse } from "./sip-message.ts";
import { formatSipUri, type NameAddress, parseNameAddress, parseParameters } from "./sip-uri.ts";

/** What two user agents share while a call lasts, as the caller sees it. @source RFC 3261 §12 */
export interface SipDialog {
  callId: string;
  localTag: string;
  remoteTag: string;
  /** From and To of requests of ours. */
  local: string;
  remote: string;
  /** Request line of requests of ours. */
  target: string;
  /** Proxies on the way that asked for it, nearest first. */
  routes: readonly string[];
  hop: Hop;
  /** Of the last request of ours and of theirs. */
  localSequence: number;
  remoteSequence: number;
}

/** The tag of a From or To; empty for none. */
export function tagParameter(header: string | null): string {
  return parseParameters((header ?? "").replace(/^.*>|^[^;]*/, "")).get("tag") ?? "";
}

/** The dialog that a success makes; `fallback` is where the request went, for a next hop that is not known. */
export async function createSipDialog(
  response: SipResponse,
  call: { callId: string; localTag: string; local: string; sequence: number; uri: string },
  fallback: Hop,
): Promise<SipDialog> {
  const routes = headerValues(response, "Record-Route").reverse();
  const contact = parseNameAddress(headerValues(response, "Contact")[0] ?? "");
  return {
    callId: call.callId,
    localTag: call.localTag,
    remoteTag: tagParameter(firstHeader(response, "To")),
    local: call.local,
    remote: firstHeader(response, "To") ?? "",
    target: contact ? formatSipUri(contact.uri) : call.uri,
    routes,
    hop: await nextHop(routes, contact, fallback),
    localSequence: call.sequence,
    remoteSequence: -1,
  };
}

/** A connection that stands is kept to; else the way is where the nearest proxy or the device says it is. */
async function nextHop(routes: readonly string[], contact: NameAddress | null, fallback: Hop): Promise<Hop> {
  if (fallback.protocol !== "udp") return fallback;
  const next = parseNameAddress(routes[0] ?? "") ?? contact;
  // A device that answered stands at its address, whatever name it gives itself: its call must be ended some day.
  return next ? resolveHop(next.uri).catch(() => fallback) : fallback;
}
