import type { LoginErrorCode } from "./login-error.ts";

/** The two sides of a log-in by SAML, as the library must know them. */
export interface SamlConfig {
  /** Where answers are posted to. */
  consumerUrl: string;
  /** Entity id of this appliance. */
  issuer: string;
  /** PEM; null: requests are not signed, and nothing encrypted can be read. */
  privateKey: string | null;
  certificate: string | null;
  entryPoint: string;
  /** Entity id of the provider; null where any is taken. */
  idpIssuer: string | null;
  /** PEM, one by one. */
  idpCertificates: readonly string[];
  clockToleranceMs: number;
}

/** What the thread of SAML is asked. */
export type SamlWorkerRequest =
  /** Where a browser is sent to log in; the request has the id `request`. */
  | { what: "url"; parties: SamlConfig; request: string; relay: string }
  /** What describes this appliance, as XML. */
  | { what: "metadata"; parties: SamlConfig }
  /** What an answer in Base64 to the request says, which was made at `requestedAt` (ISO). */
  | { what: "read"; parties: SamlConfig; request: string; requestedAt: string; response: string };

/** What an answer says that its provider signed. */
export interface SamlAssertion {
  nameId: unknown;
  attributes: Readonly<Record<string, unknown>>;
  /** Whose assertion it is. */
  issuer: unknown;
  assertionId: string | null;
  /** ISO; null without. */
  notOnOrAfter: string | null;
  /** For whom and to which request it was made, as often as it says so. */
  bearers: readonly { recipient: string | null; inResponseTo: string | null }[];
}

/** What comes back for each question. */
export type SamlWorkerResponse =
  | { text: string }
  | { said: SamlAssertion }
  | { fault: { code: LoginErrorCode; words: string } };
