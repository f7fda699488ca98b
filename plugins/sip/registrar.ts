import type { Clock, Timer } from "#plugin-api";
import {
  type ContactBinding,
  compareBindings,
  formatBindings,
  formatContact,
  isSameBinding,
  MAX_BINDINGS,
  MIN_EXPIRES_S,
  parseContacts,
  type RegisteredContact,
  type SipBinding,
} from "./contact-bindings.ts";
import { createLoginFailures } from "./login-failures.ts";
import type { SipAccount } from "./sip-accounts.ts";
import { createDigestVerifier, type DigestAlgorithm, TOO_MANY_FAILURES } from "./user-agent/digest.ts";
import { type Hop, resolveHop } from "./user-agent/hop.ts";
import type { Respond } from "./user-agent/server-transactions.ts";
import { cseqOf, firstHeader, headerValues, rawHeaders, type SipRequest } from "./user-agent/sip-message.ts";
import { parseNameAddress, unescapeUser } from "./user-agent/sip-uri.ts";
import type { IncomingSipMessage } from "./user-agent/transports.ts";

/** Registrar: keeps bindings until they expire. @source RFC 3261 §10 */
export interface SipRegistrar {
  handleRegister(arrival: IncomingSipMessage & { message: SipRequest }, respond: Respond): void;
  /** The account whose password the sender of a request has proven; null after a challenge or a refusal. */
  authenticate(arrival: IncomingSipMessage & { message: SipRequest }, respond: Respond): SipAccount | null;
  /** Bindings of an account, the one to call first; empty if not registered. */
  bindingsOf(user: string): readonly SipBinding[];
  /** Why the last registration of an account was refused; null if none was since the last one that succeeded. */
  problemOf(user: string): string | null;
  stop(): void;
}

/** A refused registration. */
export interface RefusedRegistration {
  /** The name that was given. */
  user: string;
  /** The account with this name; null if there is none. */
  account: SipAccount | null;
  host: string;
  reason: string;
}

export interface SipRegistrarDeps {
  clock: Clock;
  realm: string;
  /** Key that signs challenges. */
  key: Uint8Array;
  algorithms: readonly DigestAlgorithm[];
  isQopOptional?: boolean;
  accounts: ReadonlyMap<string, SipAccount>;
  /** A device registered or moved (its contact), or unregistered (null). */
  onChange(account: SipAccount, contact: string | null): void;
  /** Called once per sender, name and reason within an hour. */
  onRefused?(refused: RefusedRegistration): void;
}

interface StoredBinding extends ContactBinding {
  end: Timer;
}

/** How long the same refusal is not reported again; and of how many. */
const REPORT_AGAIN_MS = 3_600_000;
const MAX_REPORTED = 1_000;

/** A REGISTER as it arrived. */
type Register = IncomingSipMessage & { message: SipRequest };

/** Creates an empty registrar. @source docs/decisions/0754-sip-registrar.md, Bindings */
export function createSipRegistrar(deps: SipRegistrarDeps): SipRegistrar {
  const { clock, realm, key, algorithms, isQopOptional = false, accounts, onChange, onRefused } = deps;
  /** By account, the one to call first. */
  const bindings = new Map<string, StoredBinding[]>();
  const problems = new Map<string, string>();
  /** When a refusal was reported, oldest first. */
  const reported = new Map<string, number>();
  const failures = createLoginFailures(clock);
  const passwordOf = (user: string): string | null => accounts.get(user)?.password ?? null;
  const verifier = createDigestVerifier({
    ...{ realm, key, algorithms, isQopOptional, passwordOf },
    now: () => clock.now(),
    mayTry: (user, host) => failures.waitSeconds(host, user) === 0,
  });

  const keep = (account: SipAccount, next: StoredBinding[], hadProblem = false): void => {
    const before = bindings.get(account.user) ?? [];
    for (const { end } of before.filter((each) => !next.includes(each))) end.cancel();
    const sorted = next.toSorted(compareBindings);
    if (sorted.length > 0) bindings.set(account.user, sorted);
    else bindings.delete(account.user);
    const contact = sorted[0]?.contact ?? null;
    if ((before[0]?.contact ?? null) !== contact || hadProblem) onChange(account, contact);
  };

  const createBinding = (account: SipAccount, { message }: Register, contact: RegisteredContact, hop: Hop) => {
    const { address, seconds, q, instance, regId } = contact;
    const binding: StoredBinding = {
      ...{ uri: address.uri, hop, q, instance, regId },
      ...{ contact: formatContact(contact), callId: firstHeader(message, "Call-ID") ?? "" },
      ...{ sequence: cseqOf(message).number, updatedAt: clock.monotonicMs() },
      until: clock.monotonicMs() + seconds * 1_000,
      end: clock.after(
        seconds * 1_000,
        () => {
          const rest = (bindings.get(account.user) ?? []).filter((each) => each !== binding);
          keep(account, rest);
        },
        { background: true },
      ),
    };
    return binding;
  };

  /** Where a contact is reached. */
  const hopOf = async ({ address, seconds }: RegisteredContact, from: Hop, isOnlyOne: boolean): Promise<Hop> => {
    // A connected device is reached on its connection, whatever its contact says.
    if (seconds === 0 || (from.protocol !== "udp" && (isOnlyOne || address.uri.host === from.host))) return from;
    // The name of a contact may be known to nothing but the device; it has just sent from its address.
    return resolveHop(address.uri).catch(() => from);
  };

  const updateBindings = async (account: SipAccount, arrival: Register, respond: Respond): Promise<void> => {
    const { message, from } = arrival;
    const values = headerValues(message, "Contact");
    const expires = firstHeader(message, "Expires");
    const removesAll = values.includes("*");
    if (removesAll && (values.length > 1 || Number(expires?.trim() || Number.NaN) !== 0))
      return respond(400, "Contact * Requires Expires 0");
    const contacts = removesAll ? [] : parseContacts(values, expires);
    if (!contacts) return respond(400, "Bad Contact");
    if (contacts.some(({ seconds }) => seconds > 0 && seconds < MIN_EXPIRES_S))
      return respond(423, "Interval Too Brief", [["Min-Expires", String(MIN_EXPIRES_S)]]);
    const isOnlyOne = contacts.filter(({ seconds }) => seconds > 0).length === 1;
    const hops = await Promise.all(contacts.map((contact) => hopOf(contact, from, isOnlyOne)));
    // Read only now: another registration may have arrived during name resolution.
    const known = bindings.get(account.user) ?? [];
    const isTouched = (each: StoredBinding): boolean =>
      removesAll || contacts.some((contact) => isSameBinding(each, contact));
    const [callId, { number }] = [firstHeader(message, "Call-ID"), cseqOf(message)];
    if (known.some((each) => isTouched(each) && each.callId === callId && number <= each.sequence))
      return respond(500, "Out Of Order");
    // In turn: of two contacts that are the same, the last counts.
    let next = removesAll ? [] : known;
    for (const [at, contact] of contacts.entries()) {
      const kept = next.filter((each) => !isSameBinding(each, contact));
      for (const dropped of next) if (!kept.includes(dropped)) dropped.end.cancel();
      next = contact.seconds === 0 ? kept : [createBinding(account, arrival, contact, hops[at] ?? from), ...kept];
    }
    const oldestLast = next.toSorted((one, other) => other.updatedAt - one.updatedAt);
    for (const dropped of oldestLast.slice(MAX_BINDINGS)) dropped.end.cancel();
    keep(account, oldestLast.slice(0, MAX_BINDINGS), problems.delete(account.user));
    respond(200, "OK", formatBindings(bindings.get(account.user) ?? [], clock.monotonicMs()));
  };

  const report = (user: string, host: string, reason: string): RefusedRegistration => {
    const account = accounts.get(user) ?? accounts.get(user.replace(/@[^@]*$/, "")) ?? null;
    const refused = { user, account, host, reason };
    const now = clock.monotonicMs();
    const once = `${host} ${account?.user ?? user} ${reason}`;
    if (account) problems.set(account.user, `${reason} (from ${host})`);
    if (now < (reported.get(once) ?? 0)) return refused;
    reported.delete(once);
    reported.set(once, now + REPORT_AGAIN_MS);
    for (const oldest of reported.keys()) {
      if (reported.size <= MAX_REPORTED) break;
      reported.delete(oldest);
    }
    onRefused?.(refused);
    return refused;
  };

  const authenticate = ({ message, from: { host } }: Register, respond: Respond): SipAccount | null => {
    const to = parseNameAddress(firstHeader(message, "To") ?? "")?.uri;
    const given = rawHeaders(message, "Authorization");
    const aliases = to ? [`sip:${to.host}`] : [];
    const auth = verifier.verify(given, { method: message.method, uri: message.uri, aliases, host });
    if (!auth.ask) {
      const proven = accounts.get(auth.user) ?? null;
      if (!proven) respond(403, "Forbidden");
      return proven;
    }
    const { problem } = auth;
    if (problem) {
      const { account, reason } = report(problem.user, host, problem.reason);
      const tried = account?.user ?? problem.user;
      if (problem.isGuess) failures.add(host, tried);
      if (reason === TOO_MANY_FAILURES) {
        const wait = Math.max(1, failures.waitSeconds(host, tried));
        respond(403, "Too Many Failures", [["Retry-After", String(wait)]]);
        return null;
      }
    }
    const headers = auth.ask.map((challenge) => ["WWW-Authenticate", challenge] as const);
    respond(401, "Unauthorized", headers);
    return null;
  };

  return {
    bindingsOf: (user) => bindings.get(user) ?? [],
    problemOf: (user) => problems.get(user) ?? null,
    authenticate,
    handleRegister(arrival, respond) {
      const { message, from } = arrival;
      const account = authenticate(arrival, respond);
      if (!account) return;
      const name = unescapeUser(parseNameAddress(firstHeader(message, "To") ?? "")?.uri.user ?? null) ?? "";
      if (name !== account.user) {
        report(account.user, from.host, `registers another name, ${JSON.stringify(name.slice(0, 60))}`);
        return respond(403, "Forbidden");
      }
      updateBindings(account, arrival, respond).catch(() => respond(500, "Server Internal Error"));
    },
    stop() {
      for (const { end } of [...bindings.values()].flat()) end.cancel();
      bindings.clear();
    },
  };
}
