import { headerValues, type SipResponse } from "./sip-message.ts";
import { formatSipUri, parseNameAddress, type SipUri } from "./sip-uri.ts";

/** Where a call is redirected to. @source RFC 3261 §8.1.3.4 */
export interface Redirection {
  /** Adds the contacts of a response. */
  add(response: SipResponse): void;
  /** The next contact, which was not tried yet; null without any. */
  next(): SipUri | null;
}

/** Statuses whose contacts are called instead. */
const REDIRECTING_STATUSES = [300, 301, 302];
/** Contacts per call: redirections that lead in a circle or fan out end. */
const MAX_TARGETS = 5;

/** Creates the redirection of a call to `first`. */
export function createRedirection(first: SipUri): Redirection {
  const known = new Set([formatSipUri(first)]);
  let waiting: SipUri[] = [];
  return {
    add(response) {
      if (!REDIRECTING_STATUSES.includes(response.status)) return;
      const contacts = headerValues(response, "Contact").flatMap((text) => parseNameAddress(text) ?? []);
      const preference = (q: string | undefined): number => (/^[01](?:\.\d{0,3})?$/.test(q ?? "") ? Number(q) : 1);
      const sorted = contacts.toSorted(
        (one, other) => preference(other.params.get("q")) - preference(one.params.get("q")),
      );
      const fresh: SipUri[] = [];
      for (const { uri } of sorted) {
        const text = formatSipUri(uri);
        if (known.has(text) || known.size > MAX_TARGETS) continue;
        known.add(text);
        fresh.push(uri);
      }
      waiting = [...fresh, ...waiting];
    },
    next: () => waiting.shift() ?? null,
  };
}
