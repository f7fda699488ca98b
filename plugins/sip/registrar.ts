import type { Clock, Timer } from "#plugin-api";
import type { Account } from "./accounts.ts";
import { type Algorithm, createDoorkeeper } from "./agent/digest.ts";
import { type Hop, hopTo } from "./agent/hop.ts";
import { all, first, type Headers, type SipRequest, sequenceOf, whole } from "./agent/message.ts";
import type { Respond } from "./agent/server-transactions.ts";
import type { Arrival } from "./agent/transports.ts";
import { readAddress, type SipUri, writeUri } from "./agent/uri.ts";

/** Where a registered device is reached. */
export interface Binding {
  uri: SipUri;
  hop: Hop;
}

/** Keeps where devices are, as long as they say so again in time. @source RFC 3261 §10 */
export interface Registrar {
  take(arrival: Arrival & { message: SipRequest }, respond: Respond): void;
  /** Null for one that is not registered. */
  find(user: string): Binding | null;
  stop(): void;
}

/** What a registrar needs. */
export interface RegistrarNeeds {
  clock: Clock;
  realm: string;
  /** Signs challenges. */
  key: Uint8Array;
  algorithms: readonly Algorithm[];
  accounts: ReadonlyMap<string, Account>;
  /** A device has come or moved (its contact), or gone (null). */
  onChange(account: Account, contact: string | null): void;
}

interface Kept extends Binding {
  contact: string;
  callId: string;
  sequence: number;
  until: number;
  end: Timer;
}

/** Seconds. own choice: one that is gone is known to be within the hour; a shorter time would be nothing but traffic. */
const LONGEST_S = 3_600;
const SHORTEST_S = 10;

/** Makes a registrar that knows nobody yet. A device has one place: where it registered last. */
export function createRegistrar({ clock, realm, key, algorithms, accounts, onChange }: RegistrarNeeds): Registrar {
  const kept = new Map<string, Kept>();
  const passwordOf = (user: string): string | null => accounts.get(user)?.password ?? null;
  const doorkeeper = createDoorkeeper({ realm, key, algorithms, now: () => clock.now(), passwordOf });

  const forget = (account: Account): void => {
    const known = kept.get(account.user);
    if (!known) return;
    known.end.cancel();
    kept.delete(account.user);
    onChange(account, null);
  };

  const bind = async (
    account: Account,
    { message, from }: Arrival & { message: SipRequest },
    seconds: number,
    uri: SipUri,
  ) => {
    const { user } = account;
    // A device behind a connection is reached by it, wherever it thinks it is.
    const hop = from.protocol === "udp" ? await hopTo(uri) : from;
    const contact = writeUri(uri);
    // Only now: another place may have been told while the name was looked up.
    const known = kept.get(user);
    known?.end.cancel();
    const end = clock.after(seconds * 1_000, () => forget(account), { background: true });
    const call = { callId: first(message, "Call-ID") ?? "", sequence: sequenceOf(message).number };
    kept.set(user, { uri, hop, contact, ...call, until: clock.monotonicMs() + seconds * 1_000, end });
    if (known?.contact !== contact) onChange(account, contact);
  };

  const contactsOf = (user: string): Headers => {
    const known = kept.get(user);
    if (!known) return [];
    const left = Math.max(1, Math.round((known.until - clock.monotonicMs()) / 1_000));
    return [["Contact", `<${known.contact}>;expires=${left}`]];
  };

  const change = async (
    account: Account,
    arrival: Arrival & { message: SipRequest },
    respond: Respond,
  ): Promise<void> => {
    const { message } = arrival;
    const known = kept.get(account.user);
    const isOld = known?.callId === first(message, "Call-ID") && sequenceOf(message).number <= known.sequence;
    if (isOld) return respond(500, "Out Of Order");
    const [contact] = all(message, "Contact");
    const general = first(message, "Expires");
    if (contact === "*" && general?.trim() === "0") forget(account);
    else if (contact !== undefined) {
      const address = readAddress(contact);
      if (!address) return respond(400, "Bad Contact");
      const seconds = secondsOf(address.params.get("expires") ?? general);
      if (seconds === 0) forget(account);
      else await bind(account, arrival, seconds, address.uri);
    }
    respond(200, "OK", contactsOf(account.user));
  };

  return {
    find: (user) => kept.get(user) ?? null,
    take(arrival, respond) {
      const { message } = arrival;
      const verdict = doorkeeper.check(whole(message, "Authorization"), { method: "REGISTER", uri: message.uri });
      if (verdict.ask) {
        return respond(
          401,
          "Unauthorized",
          verdict.ask.map((challenge) => ["WWW-Authenticate", challenge] as const),
        );
      }
      const account = accounts.get(verdict.user);
      if (!account || readAddress(first(message, "To") ?? "")?.uri.user !== account.user)
        return respond(403, "Forbidden");
      change(account, arrival, respond).catch(() => respond(400, "Bad Contact"));
    },
    stop() {
      for (const { end } of kept.values()) end.cancel();
      kept.clear();
    },
  };
}

/** A device that asks for no time, or for too much, gets the longest; one that asks for too little the shortest. */
function secondsOf(text: string | null | undefined): number {
  const asked = /^\d{1,9}$/.test(text?.trim() ?? "") ? Number(text) : LONGEST_S;
  return asked === 0 ? 0 : Math.min(LONGEST_S, Math.max(SHORTEST_S, asked));
}
