import type { Clock, Timer } from "#plugin-api";
import type { SipAccount } from "./sip-accounts.ts";
import { createDigestVerifier, type DigestAlgorithm } from "./user-agent/digest.ts";
import { type Hop, resolveHop } from "./user-agent/hop.ts";
import type { Respond } from "./user-agent/server-transactions.ts";
import {
  cseqOf,
  firstHeader,
  headerValues,
  rawHeaders,
  type SipHeaders,
  type SipRequest,
} from "./user-agent/sip-message.ts";
import { formatSipUri, parseNameAddress, type SipUri } from "./user-agent/sip-uri.ts";
import type { IncomingSipMessage } from "./user-agent/transports.ts";

export interface SipBinding {
  uri: SipUri;
  hop: Hop;
}

/** Registrar: keeps bindings until they expire. @source RFC 3261 §10 */
export interface SipRegistrar {
  handleRegister(arrival: IncomingSipMessage & { message: SipRequest }, respond: Respond): void;
  /** Null if not registered. */
  findBinding(user: string): SipBinding | null;
  stop(): void;
}

export interface SipRegistrarDeps {
  clock: Clock;
  realm: string;
  /** Key that signs challenges. */
  key: Uint8Array;
  algorithms: readonly DigestAlgorithm[];
  accounts: ReadonlyMap<string, SipAccount>;
  /** A device registered or moved (its contact), or unregistered (null). */
  onChange(account: SipAccount, contact: string | null): void;
}

interface StoredBinding extends SipBinding {
  contact: string;
  callId: string;
  sequence: number;
  until: number;
  end: Timer;
}

/** Expiry limits in seconds: a device that is gone is detected within the hour; a shorter expiry only adds traffic. */
const MAX_EXPIRES_S = 3_600;
const MIN_EXPIRES_S = 10;

/** Creates an empty registrar. A device has one binding: its latest. */
export function createSipRegistrar({
  clock,
  realm,
  key,
  algorithms,
  accounts,
  onChange,
}: SipRegistrarDeps): SipRegistrar {
  const bindings = new Map<string, StoredBinding>();
  const passwordOf = (user: string): string | null => accounts.get(user)?.password ?? null;
  const verifier = createDigestVerifier({ realm, key, algorithms, now: () => clock.now(), passwordOf });

  const unregister = (account: SipAccount): void => {
    const known = bindings.get(account.user);
    if (!known) return;
    known.end.cancel();
    bindings.delete(account.user);
    onChange(account, null);
  };

  const bind = async (
    account: SipAccount,
    { message, from }: IncomingSipMessage & { message: SipRequest },
    seconds: number,
    uri: SipUri,
  ) => {
    const { user } = account;
    // A connected device is reached on its connection, whatever its contact says.
    const hop = from.protocol === "udp" ? await resolveHop(uri) : from;
    const contact = formatSipUri(uri);
    // Read only now: another registration may have arrived during name resolution.
    const known = bindings.get(user);
    known?.end.cancel();
    const end = clock.after(seconds * 1_000, () => unregister(account), { background: true });
    const call = { callId: firstHeader(message, "Call-ID") ?? "", sequence: cseqOf(message).number };
    bindings.set(user, { uri, hop, contact, ...call, until: clock.monotonicMs() + seconds * 1_000, end });
    if (known?.contact !== contact) onChange(account, contact);
  };

  const contactsOf = (user: string): SipHeaders => {
    const known = bindings.get(user);
    if (!known) return [];
    const left = Math.max(1, Math.round((known.until - clock.monotonicMs()) / 1_000));
    return [["Contact", `<${known.contact}>;expires=${left}`]];
  };

  const updateBinding = async (
    account: SipAccount,
    arrival: IncomingSipMessage & { message: SipRequest },
    respond: Respond,
  ): Promise<void> => {
    const { message } = arrival;
    const known = bindings.get(account.user);
    const isOld = known?.callId === firstHeader(message, "Call-ID") && cseqOf(message).number <= known.sequence;
    if (isOld) return respond(500, "Out Of Order");
    const [contact] = headerValues(message, "Contact");
    const general = firstHeader(message, "Expires");
    if (contact === "*" && general?.trim() === "0") unregister(account);
    else if (contact !== undefined) {
      const address = parseNameAddress(contact);
      if (!address) return respond(400, "Bad Contact");
      const seconds = clampExpires(address.params.get("expires") ?? general);
      if (seconds === 0) unregister(account);
      else await bind(account, arrival, seconds, address.uri);
    }
    respond(200, "OK", contactsOf(account.user));
  };

  return {
    findBinding: (user) => bindings.get(user) ?? null,
    handleRegister(arrival, respond) {
      const { message } = arrival;
      const auth = verifier.verify(rawHeaders(message, "Authorization"), { method: "REGISTER", uri: message.uri });
      if (auth.ask) {
        return respond(
          401,
          "Unauthorized",
          auth.ask.map((challenge) => ["WWW-Authenticate", challenge] as const),
        );
      }
      const account = accounts.get(auth.user);
      if (!account || parseNameAddress(firstHeader(message, "To") ?? "")?.uri.user !== account.user)
        return respond(403, "Forbidden");
      updateBinding(account, arrival, respond).catch(() => respond(400, "Bad Contact"));
    },
    stop() {
      for (const { end } of bindings.values()) end.cancel();
      bindings.clear();
    },
  };
}

/** Missing and excessive expiries become the maximum, too short ones the minimum. */
function clampExpires(text: string | null | undefined): number {
  const requested = /^\d{1,9}$/.test(text?.trim() ?? "") ? Number(text) : MAX_EXPIRES_S;
  return requested === 0 ? 0 : Math.min(MAX_EXPIRES_S, Math.max(MIN_EXPIRES_S, requested));
}
