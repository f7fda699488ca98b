import { type Hop, hopTo } from "./hop.ts";
import { all, first, type SipResponse } from "./message.ts";
import { type NamedAddress, readAddress, readParams, writeUri } from "./uri.ts";

/** What two user agents share while a call lasts, as the caller sees it. @source RFC 3261 §12 */
export interface Dialog {
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
export function tagOf(header: string | null): string {
  return readParams((header ?? "").replace(/^.*>|^[^;]*/, "")).get("tag") ?? "";
}

/** The dialog that a success makes; `fallback` is where the request went, for a next hop that is not known. */
export async function dialogOf(
  response: SipResponse,
  call: { callId: string; localTag: string; local: string; sequence: number; uri: string },
  fallback: Hop,
): Promise<Dialog> {
  const routes = all(response, "Record-Route").reverse();
  const contact = readAddress(all(response, "Contact")[0] ?? "");
  return {
    callId: call.callId,
    localTag: call.localTag,
    remoteTag: tagOf(first(response, "To")),
    local: call.local,
    remote: first(response, "To") ?? "",
    target: contact ? writeUri(contact.uri) : call.uri,
    routes,
    hop: await nextHop(routes, contact, fallback),
    localSequence: call.sequence,
    remoteSequence: -1,
  };
}

/** A connection that stands is kept to; else the way is where the nearest proxy or the device says it is. */
async function nextHop(routes: readonly string[], contact: NamedAddress | null, fallback: Hop): Promise<Hop> {
  if (fallback.protocol !== "udp") return fallback;
  const next = readAddress(routes[0] ?? "") ?? contact;
  // A device that answered stands at its address, whatever name it gives itself: its call must be ended some day.
  return next ? hopTo(next.uri).catch(() => fallback) : fallback;
}
