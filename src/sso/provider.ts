import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import { asGiven, type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { Store } from "../store/store.ts";
import type { SamlService } from "./saml-service.ts";
import type { SamlLogoutMessage } from "./saml-worker-messages.ts";

/** The authenticated identity that a provider returns. */
export interface ExternalIdentity {
  /** Immutable id of the user at the provider. */
  subject: string;
  /** Null when it is missing or not verified. */
  email: string | null;
  name: string | null;
  /** The user's groups; null when the provider does not say them: the last known ones stay. */
  groups: readonly ProviderGroup[] | null;
  /** What a logout at the provider must say of the session; absent if it needs nothing. */
  logoutState?: RedirectState;
  /** How the provider may name the session when it ends it. */
  sessionKeys?: readonly string[];
}

/** A provider has ended sessions. */
export interface LogoutNotice {
  /** Unique per notice. */
  id: string;
  /** As in `ExternalIdentity`. */
  sessionKeys: readonly string[];
  /** A repeated notice is refused until then. Epoch ms. */
  until: number;
}

/** A group at a provider. */
export interface ProviderGroup {
  name: string;
  /** Id at the provider that never changes; null if it has none. */
  externalId: string | null;
  /** Id that earlier versions stored: the DN in a directory. */
  formerId?: string;
}

/** Codes of findings, which the console translates; for `failed` only `words` gives the reason. */
export const PROVIDER_FINDINGS = [
  ...["called-tls", "called-starttls", "called-plain", "may-search", "searched-as-nobody"],
  ...["people", "no-people", "groups", "no-groups", "groups-read", "groups-unread"],
  ...["described", "log-in-page", "good-until", "failed"],
] as const;

/** A finding of a provider test; part of the API. */
export interface ProviderFinding {
  /** One of `PROVIDER_FINDINGS`. */
  code: string;
  /** The name, address, number or date of the finding; null if it has none. */
  value?: string | null;
  /** The finding or the error message, in English. */
  words: Sentence;
}

/** One step of a provider test. */
export interface ProviderCheck extends Required<ProviderFinding> {
  /** The step. */
  what: "address" | "discovery" | "keys" | "bind" | "users" | "groups" | "certificate" | "page";
  ok: boolean;
}

/** Values that a login needs when the browser returns; secret. */
export type RedirectState = Readonly<Record<string, string>>;

/** Parameters of the callback, by their protocol names. */
export type CallbackParameters = Readonly<Record<string, string>>;

/** Login through the pages of the provider. */
export interface RedirectLogin {
  /** Starts a login: the URL to redirect to, and the state to store. Throws LoginError. */
  begin(relay: string): Promise<{ location: string; kept: RedirectState }>;
  /** Validates the callback and returns the identity. Throws LoginError. */
  finish(parameters: CallbackParameters, kept: RedirectState): Promise<ExternalIdentity>;
  /** Whether a callback answers no login that started here, and logins may start at the provider. */
  isUnsolicited?(parameters: CallbackParameters): boolean;
  /** The logout URL of the provider, which redirects to `back`; null if it has none. `state` is that of the login. */
  buildLogoutUrl(back: string, state: RedirectState | null): Promise<string | null>;
  /** Validates a logout token of the provider; absent if the protocol has none. Throws LoginError. */
  readLogoutToken?(token: string): Promise<LogoutNotice>;
  /** Validates a logout request of the provider; `location` is where the browser goes back. Throws LoginError. */
  readLogoutRequest?(message: SamlLogoutMessage): Promise<LogoutNotice & { location: string | null }>;
  /** Service provider metadata as XML; null if the protocol has none. */
  metadata(): Promise<string | null>;
}

/** What somebody typed, and the network or browser that the attempt counts for. */
export interface PasswordAttempt {
  login: string;
  password: string;
  from: string;
}

/** Login with a name and password that the provider verifies. */
export interface PasswordLogin {
  /**
   * The identity; null for an unknown user or a wrong password. Throws UpstreamError, and TooManyRequestsError after
   * too many wrong passwords from `from`, counted per user however it was spelled.
   */
  verify(attempt: PasswordAttempt): Promise<ExternalIdentity | null>;
  /** All identities whose subject is in `subjects`. Throws UpstreamError. */
  findPeople(subjects: ReadonlySet<string>): AsyncIterable<ExternalIdentity>;
}

/** An identity provider, created from its row. */
export interface Provider {
  /** Tests the steps of a login, until a step fails that the next one needs; changes nothing. Never throws. */
  test(): Promise<ProviderCheck[]>;
  redirect?: RedirectLogin;
  password?: PasswordLogin;
}

/** Dependencies of providers. */
export interface ProviderDeps {
  store: Store;
  clock: Clock;
  policy: SsrfGuard;
  saml: SamlService;
  /** Aborts outgoing calls at shutdown. */
  signal: AbortSignal;
  /** Public base URL of the appliance, without a trailing slash. */
  baseUrl(): string;
}

/** Creates a provider from its row; connects and loads libraries only on use. */
export type ProviderFactory = (row: IdentityProviderRow, deps: ProviderDeps) => Provider;

/** URLs of this appliance to register at the provider. */
export function buildProviderUrls({ id }: Pick<IdentityProviderRow, "id">, baseUrl: string) {
  const at = `${baseUrl}/api/log-in/${id}`;
  return {
    redirectUri: `${at}/back`,
    consumerUrl: `${at}/consume`,
    metadataUrl: `${at}/metadata`,
    backChannelLogoutUrl: `${at}/back-channel-logout`,
    singleLogoutUrl: `${at}/logout`,
  };
}

/** Runs a test step and records its finding or error. Returns null when it failed. */
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
    checks.push({ what, ok: false, code: "failed", value: null, words: asGiven(words) });
    return null;
  }
}

/** Finding: whether groups are read from a claim or attribute. */
export function groupsAttributeFinding({
  groupsAttribute: name,
}: Pick<IdentityProviderRow, "groupsAttribute">): ProviderFinding {
  return name === null || name === ""
    ? { code: "groups-unread", words: sentence("provider-test.groups-unread") }
    : { code: "groups-read", value: name, words: sentence("provider-test.groups-read", { name }) };
}
