import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { Store } from "../store/store.ts";
import type { SamlService } from "./saml-service.ts";

/** What a provider says of somebody who proved to be who it is. */
export interface ExternalIdentity {
  /** What the provider calls that person, for ever. */
  subject: string;
  /** Null when it says none, or does not vouch for it. */
  email: string | null;
  name: string | null;
  /** Groups that the person is in; null when the provider says nothing of groups. */
  groups: readonly ProviderGroup[] | null;
}

/** A group as a provider knows it. */
export interface ProviderGroup {
  name: string;
  /** Its own id, such as the name in a directory; null without. */
  externalId: string | null;
}

/** What a test may find, for pages that say it in the words of their reader; `failed` is told by `words` alone. */
export const PROVIDER_FINDINGS = [
  ...["called-tls", "called-starttls", "called-plain", "may-search", "searched-as-nobody"],
  ...["people", "no-people", "groups", "no-groups", "groups-read", "groups-unread"],
  ...["described", "log-in-page", "good-until", "failed"],
] as const;

/** Something that a test found. */
export interface ProviderFinding {
  /** Of `FINDINGS`. */
  code: string;
  /** The one name, address, number or date in it; null where there is none. */
  value?: string | null;
  /** The same in English, or what is wrong. */
  words: string;
}

/** One thing that was tried. */
export interface ProviderCheck extends Required<ProviderFinding> {
  /** What was tried, in one word. */
  what: "address" | "discovery" | "keys" | "bind" | "users" | "groups" | "certificate" | "page";
  ok: boolean;
}

/** Values that a log-in must find again when the browser comes back; never shown to anybody. */
export type RedirectState = Readonly<Record<string, string>>;

/** What a browser brings back, by the names of the protocol. */
export type CallbackParameters = Readonly<Record<string, string>>;

/** Log-in by way of the provider's own pages. */
export interface RedirectLogin {
  /** Where the browser is sent. Throws LoginError. */
  begin(relay: string): Promise<{ location: string; kept: RedirectState }>;
  /** Who came back. Throws LoginError. */
  finish(brought: CallbackParameters, kept: RedirectState): Promise<ExternalIdentity>;
  /** Where somebody logs out at the provider, who then comes back to `back`; null where the provider has no such place. */
  buildLogoutUrl(back: string): Promise<string | null>;
  /** What describes this appliance to the provider, as XML; null where nothing does. */
  metadata(): Promise<string | null>;
}

/** Log-in with an address or name and a password that the provider keeps. */
export interface PasswordLogin {
  /**
   * Who that is; null when it is nobody, or the password is wrong. Throws UpstreamError, TooManyRequestsError after too many wrong
   * passwords, however the person was named.
   */
  verify(account: { login: string; password: string }): Promise<ExternalIdentity | null>;
  /** Everybody whom the provider knows and whose subject is among `subjects`. Throws UpstreamError. */
  findPeople(subjects: ReadonlySet<string>): AsyncIterable<ExternalIdentity>;
}

/** One provider, made from its row. */
export interface Provider {
  /** Tries everything that a log-in needs, up to what the next step can't do without; changes nothing. Never throws. */
  test(): Promise<ProviderCheck[]>;
  redirect?: RedirectLogin;
  password?: PasswordLogin;
}

/** What providers are made of. */
export interface ProviderDeps {
  store: Store;
  clock: Clock;
  policy: SsrfGuard;
  saml: SamlService;
  /** Breaks calls off at the end. */
  signal: AbortSignal;
  /** Where the appliance is reached, without a slash at its end. */
  baseUrl(): string;
}

/** Makes a provider of its row; nothing is connected, and no library loaded, until it is used. */
export type ProviderFactory = (row: IdentityProviderRow, deps: ProviderDeps) => Provider;

/** Addresses of this appliance that the provider must know. */
export function buildProviderUrls({ id }: Pick<IdentityProviderRow, "id">, baseUrl: string) {
  const at = `${baseUrl}/api/log-in/${id}`;
  return { redirectUri: `${at}/back`, consumerUrl: `${at}/consume`, metadataUrl: `${at}/metadata` };
}

/** A step of a test: what it finds when all is well, or the words of the error. Returns null when it failed. */
export async function runCheck<T>(
  checks: ProviderCheck[],
  what: ProviderCheck["what"],
  work: () => Promise<T>,
  finding: (found: T) => ProviderFinding,
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
export function groupsAttributeFinding({
  groupsAttribute: name,
}: Pick<IdentityProviderRow, "groupsAttribute">): ProviderFinding {
  return name === null || name === ""
    ? { code: "groups-unread", words: "Groups are not read: no claim or attribute is named." }
    : { code: "groups-read", value: name, words: `Groups are read from ${name}.` };
}
