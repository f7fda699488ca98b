import type { LoginErrorCode } from "./login-error.ts";

/** Service provider and identity provider settings of a SAML login. */
export interface SamlConfig {
  /** Assertion consumer URL. */
  consumerUrl: string;
  /** Entity id of this appliance. */
  issuer: string;
  /** PEM; null: requests are not signed and encrypted assertions cannot be read. */
  privateKey: string | null;
  certificate: string | null;
  entryPoint: string;
  /** Single logout URL of the provider; null: logout requests are not answered. */
  logoutUrl: string | null;
  /** Single logout URL of this appliance. */
  logoutCallbackUrl: string;
  /** Entity id of the provider; null accepts any. */
  idpIssuer: string | null;
  /** PEM, one certificate each. */
  idpCertificates: readonly string[];
  clockToleranceMs: number;
  /** Accept signatures with SHA-1. */
  allowSha1: boolean;
  /** Accept an assertion without a signature in a signed response. */
  acceptSignedResponse: boolean;
  /** URI of the NameID format to request. */
  nameIdFormat: string | null;
  /** Authentication context classes to request; empty requests none. */
  contexts: readonly string[];
  /** Ask the provider to authenticate the user again. */
  forceAuthentication: boolean;
}

/** Parameters of a logout request, redirect binding. @source SAML 2.0 Bindings §3.4.4.1 */
export interface SamlLogoutMessage {
  SAMLRequest: string;
  /** Null if absent; an empty one is signed, too. */
  RelayState: string | null;
  SigAlg: string;
  Signature: string;
}

/** Requests to the SAML worker. */
export type SamlWorkerRequest =
  /** Login URL of a request with the id `request`. */
  | { what: "url"; parties: SamlConfig; request: string; relay: string }
  /** Service provider metadata as XML. */
  | { what: "metadata"; parties: SamlConfig }
  /** Validates a logout request of the provider and builds the response; `now` is epoch ms. */
  | { what: "logout"; parties: SamlConfig; message: SamlLogoutMessage; now: number }
  /** Validates a Base64 response to the request, which was created at `requestedAt` (ISO 8601). */
  | { what: "read"; parties: SamlConfig; request: string; requestedAt: string; response: string };

/** The signed content of a response. */
export interface SamlAssertion {
  nameId: unknown;
  /** URI of its format; null if absent. */
  nameIdFormat: string | null;
  /** Authentication context classes. */
  contexts: readonly string[];
  /** Time of the authentication, ISO 8601; null if absent. */
  authenticatedAt: string | null;
  attributes: Readonly<Record<string, unknown>>;
  /** Entity id of the issuer. */
  issuer: unknown;
  assertionId: string | null;
  /** How the provider names the session; null if absent. */
  sessionIndex: string | null;
  /** ISO 8601; null if absent. */
  notOnOrAfter: string | null;
  /** Bearer confirmations: recipient and request. */
  bearers: readonly { recipient: string | null; inResponseTo: string | null }[];
}

/** The content of a logout request, and where the browser goes back. */
export interface SamlLogout {
  id: string;
  nameId: string;
  sessionIndex: string | null;
  location: string | null;
}

/** Responses of the SAML worker. */
export type SamlWorkerResponse =
  | { logout: SamlLogout }
  | { text: string }
  | { assertion: SamlAssertion }
  | { error: { code: LoginErrorCode; message: string } };
