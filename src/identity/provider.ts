import type { ProviderRow } from "../access/identity-providers.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import type { SamlDesk } from "./saml-desk.ts";

/** What a provider says of somebody who proved to be who it is. */
export interface Vouched {
  /** What the provider calls that person, for ever. */
  subject: string;
  /** Null when it says none, or does not vouch for it. */
  email: string | null;
  name: string | null;
  /** Groups that the person is in; null when the provider says nothing of groups. */
  groups: readonly NamedGroup[] | null;
}

/** A group as a provider knows it. */
export interface NamedGroup {
  name: string;
  /** Its own id, such as the name in a directory; null without. */
  externalId: string | null;
}

/** What a test may find, for pages that say it in the words of their reader; `failed` is told by `words` alone. */
export const FINDINGS = [
  ...["called-tls", "called-starttls", "called-plain", "may-search", "searched-as-nobody"],
  ...["people", "no-people", "groups", "no-groups", "groups-read", "groups-unread"],
  ...["described", "log-in-page", "good-until", "failed"],
] as const;

/** Something that a test found. */
export interface Finding {
  /** Of `FINDINGS`. */
  code: string;
  /** The one name, address, number or date in it; null where there is none. */
  value?: string | null;
  /** The same in English, or what is wrong. */
  words: string;
}

/** One thing that was tried. */
export interface ProviderCheck extends Required<Finding> {
  /** What was tried, in one word. */
  what: "address" | "discovery" | "keys" | "bind" | "users" | "groups" | "certificate" | "page";
  ok: boolean;
}

/** Values that a log-in must find again when the browser comes back; never shown to anybody. */
export type Kept = Readonly<Record<string, string>>;

/** What a browser brings back, by the names of the protocol. */
export type Brought = Readonly<Record<string, string>>;

/** Log-in by way of the provider's own pages. */
export interface RedirectLogIn {
  /** Where the browser is sent. Throws LogInFault. */
  begin(relay: string): Promise<{ location: string; kept: Kept }>;
  /** Who came back. Throws LogInFault. */
  finish(brought: Brought, kept: Kept): Promise<Vouched>;
  /** Where somebody logs out at the provider, who then comes back to `back`; null where the provider has no such place. */
  logOut(back: string): Promise<string | null>;
  /** What describes this appliance to the provider, as XML; null where nothing does. */
  metadata(): Promise<string | null>;
}

/** Log-in with an address or name and a password that the provider keeps. */
export interface PasswordLogIn {
  /**
   * Who that is; null when it is nobody, or the password is wrong. Throws UpstreamError, TooManyRequests after too many wrong
   * passwords, however the person was named.
   */
  verify(account: { login: string; password: string }): Promise<Vouched | null>;
  /** Everybody whom the provider knows and whose subject is among `subjects`. Throws UpstreamError. */
  people(subjects: ReadonlySet<string>): AsyncIterable<Vouched>;
}

/** One provider, made from its row. */
export interface Provider {
  /** Tries everything that a log-in needs, up to what the next step can't do without; changes nothing. Never throws. */
  test(): Promise<ProviderCheck[]>;
  redirect?: RedirectLogIn;
  password?: PasswordLogIn;
}

/** What providers are made of. */
export interface ProviderNeeds {
  store: Store;
  clock: Clock;
  policy: AddressPolicy;
  saml: SamlDesk;
  /** Breaks calls off at the end. */
  signal: AbortSignal;
  /** Where the appliance is reached, without a slash at its end. */
  baseUrl(): string;
}

/** Makes a provider of its row; nothing is connected, and no library loaded, until it is used. */
export type MakeProvider = (row: ProviderRow, needs: ProviderNeeds) => Provider;

/** Addresses of this appliance that the provider must know. */
export function addressesOf({ id }: Pick<ProviderRow, "id">, baseUrl: string) {
  const at = `${baseUrl}/api/log-in/${id}`;
  return { redirectUri: `${at}/back`, consumerUrl: `${at}/consume`, metadataUrl: `${at}/metadata` };
}

/** A step of a test: what it finds when all is well, or the words of the error. Returns null when it failed. */
export async function tried<T>(
  checks: ProviderCheck[],
  what: ProviderCheck["what"],
  work: () => Promise<T>,
  finding: (found: T) => Finding,
): Promise<T | null> {
  try {
    const found = await work();
    checks.push({ what, ok: true, value: null, ...finding(found) });
    return found;
  } catch (error) {
    const words = (error instanceof Error ? error.message : String(error)).slice(0, 1_000);
    checks.push({ what, ok: false, code: "failed", value: null, words });
    return null;
  }
}

/** Whether groups are read of a claim or attribute. */
export function groupsFinding({ groupsAttribute: name }: Pick<ProviderRow, "groupsAttribute">): Finding {
  return name === null || name === ""
    ? { code: "groups-unread", words: "Groups are not read: no claim or attribute is named." }
    : { code: "groups-read", value: name, words: `Groups are read from ${name}.` };
}
