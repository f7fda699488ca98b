import { type Hop, resolveHop } from "./hop.ts";
import { cseqOf, firstHeader, headerValues, type SipRequest, type SipResponse } from "./sip-message.ts";
import { formatSipUri, headerParameters, type NameAddress, parseNameAddress } from "./sip-uri.ts";

/** Dialog state. @source RFC 3261 §12 */
export interface SipDialog {
  callId: string;
  localTag: string;
  remoteTag: string;
  /** From and To of our requests. */
  local: string;
  remote: string;
  /** Request URI of our requests. */
  target: string;
  /** Route set, nearest proxy first. */
  routes: readonly string[];
  hop: Hop;
  /** CSeq number of the last request of the other side. */
  remoteSequence: number;
}

/** Tag of a From or To header; empty if missing. */
export function tagParameter(header: string | null): string {
  return headerParameters(header ?? "").get("tag") ?? "";
}

/**
 * Creates the dialog of a 2xx response; `fallback` is the hop of the request, used if the next hop cannot be resolved.
 */
export async function createSipDialog(
  response: SipResponse,
  call: { callId: string; localTag: string; local: string; uri: string },
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
    remoteSequence: -1,
  };
}

/** Creates the dialog of an INVITE that this side answers with `localTag`. @source RFC 3261 §12.1.1 */
export async function createAnsweredDialog(request: SipRequest, localTag: string, from: Hop): Promise<SipDialog> {
  const routes = headerValues(request, "Record-Route");
  const contact = parseNameAddress(headerValues(request, "Contact")[0] ?? "");
  const remote = firstHeader(request, "From") ?? "";
  return {
    callId: firstHeader(request, "Call-ID") ?? "",
    localTag,
    remoteTag: tagParameter(remote),
    local: `${firstHeader(request, "To") ?? ""};tag=${localTag}`,
    remote,
    target: contact ? formatSipUri(contact.uri) : `sip:${from.host}:${from.port}`,
    routes,
    hop: await nextHop(routes, contact, from),
    remoteSequence: cseqOf(request).number,
  };
}

/** Keeps an open connection; else uses the nearest proxy or the contact. */
async function nextHop(routes: readonly string[], contact: NameAddress | null, fallback: Hop): Promise<Hop> {
  if (fallback.protocol !== "udp") return fallback;
  const next = parseNameAddress(routes[0] ?? "") ?? contact;
  // The answering device is at its address, whatever name its contact has: the call must be endable.
  return next ? resolveHop(next.uri).catch(() => fallback) : fallback;
}
