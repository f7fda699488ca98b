import { hash, randomUUID, X509Certificate } from "node:crypto";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { readClaimTexts, readGroupClaim } from "./claim-values.ts";
import { LoginError } from "./login-error.ts";
import { consumeValue, type KindLimit, putIfAbsent } from "./login-state-store.ts";
import { assertLoginStrength, requiredValues } from "./login-strength.ts";
import { LOGIN_TIMEOUT_MS } from "./pending-login.ts";
import {
  buildProviderUrls,
  type CallbackParameters,
  type ExternalIdentity,
  groupsAttributeFinding,
  type LogoutNotice,
  type Provider,
  type ProviderCheck,
  type ProviderDeps,
  runCheck,
} from "./provider.ts";
import type { SamlAssertion, SamlConfig, SamlLogoutMessage } from "./saml-worker-messages.ts";

/** Replay protection period of an assertion without NotOnOrAfter; longer than any assertion is accepted. */
const DEFAULT_ASSERTION_MS = 86_400_000;
/**
 * Maximum number of pending logins. They expire after ten minutes; each takes about 200 bytes, and counting them takes
 * 0.4 ms. Anyone may start a login, so beyond the limit the oldest are evicted: refusing new ones would lock out
 * everybody.
 * @source docs/decisions/0402-identity-providers.md, SAML
 */
const PENDING_REQUEST_LIMIT: KindLimit = { kind: "request", maxEntries: 10_000 };
/** @source SAML 2.0 Core §8.3 */
const NAME_ID_FORMATS = {
  persistent: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
  email: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
} as const;
/** A NameID that is another one at each login. */
const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
/** Common attributes of e-mail address and name, used if the row names none. */
const EMAIL_ATTRIBUTES = ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3"];
const NAME_ATTRIBUTES = ["name", "displayName", "cn", "urn:oid:2.16.840.1.113730.3.1.241"];

/**
 * SAML 2: requests by redirect, responses by POST. Assertions must be signed, meant for this appliance, answer a
 * pending request that is at most ten minutes old, and be currently valid; each is accepted once, also across restarts
 * (replay protection).
 * @source SAML 2.0 Profiles §4.1; SAML 2.0 Core §2.5
 */
export function createSamlProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  return {
    test: () => test(row, deps),
    redirect: {
      begin: async (relay) => ({ location: await begin(row, deps, relay), kept: {} }),
      finish: (parameters) => finish(row, deps, parameters),
      buildLogoutUrl: async () => null,
      readLogoutRequest: (message) => readLogout(row, deps, message),
      metadata: () => deps.saml.generate({ what: "metadata", parties: readSamlConfig(row, deps) }),
    },
  };
}

async function begin(row: IdentityProviderRow, deps: ProviderDeps, relay: string): Promise<string> {
  const request = requestIdOf(relay);
  const location = await deps.saml.generate({ what: "url", parties: readSamlConfig(row, deps), request, relay });
  const now = deps.clock.now();
  const value = new Date(now).toISOString();
  await putIfAbsent(
    deps.store,
    { key: requestKey(row, request), value, until: now + LOGIN_TIMEOUT_MS, now },
    PENDING_REQUEST_LIMIT,
  );
  return location;
}

/**
 * Id of the request of a login, derived from the relay state. The relay state is returned unsigned, but the request id
 * is signed, so a stolen assertion cannot be used in another login.
 */
function requestIdOf(relay: string): string {
  return `_${hash("sha256", relay, "hex")}`;
}

/** Key of a pending request. */
function requestKey({ id }: IdentityProviderRow, request: string): string {
  return `${PENDING_REQUEST_LIMIT.kind} ${id} ${request}`;
}

function readSamlConfig(row: IdentityProviderRow, deps: ProviderDeps): SamlConfig {
  return {
    consumerUrl: buildProviderUrls(row, deps.baseUrl()).consumerUrl,
    issuer: entityIdOf(row, deps),
    privateKey: row.spPrivateKey ? deps.store.secrets.open(row.spPrivateKey) : null,
    certificate: row.spCertificate,
    entryPoint: row.entryPoint ?? "",
    logoutUrl: row.logoutUrl,
    logoutCallbackUrl: buildProviderUrls(row, deps.baseUrl()).singleLogoutUrl,
    idpIssuer: row.idpIssuer,
    idpCertificates: splitCertificates(row.idpCertificates),
    clockToleranceMs: row.clockToleranceInSecs * 1_000,
    allowSha1: row.allowSha1,
    acceptSignedResponse: row.acceptSignedResponse,
    nameIdFormat: row.nameIdFormat === null ? null : NAME_ID_FORMATS[row.nameIdFormat],
    contexts: requiredValues(row.requiredAcr),
    forceAuthentication: row.maxLoginAgeInSecs !== null,
  };
}

function entityIdOf(row: IdentityProviderRow, { baseUrl }: ProviderDeps): string {
  return row.spIssuer || buildProviderUrls(row, baseUrl()).metadataUrl;
}

async function finish(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  parameters: CallbackParameters,
): Promise<ExternalIdentity> {
  const { SAMLResponse: response = "", RelayState = "" } = parameters;
  const request = requestIdOf(RelayState);
  // Validate one response per login: validation is expensive, and anyone may post.
  const requestedAt = await consumeValue(deps.store, requestKey(row, request), deps.clock.now());
  if (requestedAt === null) throw new LoginError("replayed", sentence("login.no-pending-login-matches-this-response"));
  const parties = readSamlConfig(row, deps);
  const assertion = await deps.saml.validateResponse({ what: "read", parties, request, requestedAt, response });
  if (row.idpIssuer && assertion.issuer !== row.idpIssuer) {
    throw new LoginError("audience", sentence("login.the-assertion-was-issued-by-another-provider"));
  }
  assertBearer(assertion, request, parties.consumerUrl);
  await assertNotReplayed(row, deps, assertion);
  const authenticatedAt = Date.parse(assertion.authenticatedAt ?? "");
  const strength = { levels: assertion.contexts, methods: [] };
  const at = Number.isNaN(authenticatedAt) ? null : authenticatedAt;
  assertLoginStrength(row, { ...strength, authenticatedAt: at }, deps.clock.now());
  return { ...readIdentity(row, assertion), sessionKeys: sessionKeysOf(assertion) };
}

async function readLogout(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  message: SamlLogoutMessage,
): Promise<LogoutNotice & { location: string | null }> {
  const now = deps.clock.now();
  const parties = readSamlConfig(row, deps);
  const { id, location, ...session } = await deps.saml.readLogout({ what: "logout", parties, message, now });
  // Requests are valid for ten minutes before and after.
  return { id, location, sessionKeys: sessionKeysOf(session), until: now + 2 * (600_000 + parties.clockToleranceMs) };
}

/** What a provider may name a session by in a logout request. */
function sessionKeysOf({ nameId, sessionIndex }: { nameId: unknown; sessionIndex: string | null }): string[] {
  const named = readClaimTexts(nameId).map((value) => `name ${value}`);
  return sessionIndex === null ? named : [`index ${sessionIndex}`, ...named];
}

/**
 * Checks recipient and request in the signed assertion; the library checks the unsigned response around it. Throws
 * LoginError.
 * @source SAML 2.0 Profiles §4.1.4.3
 */
function assertBearer({ bearers }: SamlAssertion, request: string, consumerUrl: string): void {
  const forUs = bearers.filter(({ recipient }) => recipient === consumerUrl);
  if (forUs.length === 0) throw new LoginError("audience", sentence("login.the-assertion-is-for-another-recipient"));
  if (!forUs.some(({ inResponseTo }) => inResponseTo === request)) {
    throw new LoginError("replayed", sentence("login.the-assertion-answers-another-request"));
  }
}

/** Throws LoginError `replayed` for an assertion that was already used. */
async function assertNotReplayed(
  row: IdentityProviderRow,
  { store, clock }: ProviderDeps,
  assertion: SamlAssertion,
): Promise<void> {
  const { assertionId: id, notOnOrAfter } = assertion;
  if (id === null) throw new LoginError("answer", sentence("login.the-assertion-must-have-an-id"));
  const now = clock.now();
  const end = Date.parse(notOnOrAfter ?? "");
  const until = (Number.isNaN(end) ? now + DEFAULT_ASSERTION_MS : end) + 2 * row.clockToleranceInSecs * 1_000;
  const isNew = await putIfAbsent(store, { key: `assertion ${row.id} ${id}`, value: "", until, now });
  if (!isNew) throw new LoginError("replayed", sentence("login.the-assertion-was-already-used"));
}

function readIdentity(row: IdentityProviderRow, assertion: SamlAssertion): ExternalIdentity {
  const { nameId, attributes } = assertion;
  // The first login would create an account that no later one finds.
  if (!row.subjectAttribute && assertion.nameIdFormat === TRANSIENT)
    throw new LoginError("answer", sentence("login.the-nameid-is-transient-name-a-subjectattribute"));
  const firstOf = (names: readonly string[]): string | null =>
    names.flatMap((name) => readClaimTexts(attributes[name]))[0] ?? null;
  const subject = row.subjectAttribute ? firstOf([row.subjectAttribute]) : (readClaimTexts(nameId)[0] ?? null);
  if (subject === null) throw new LoginError("answer", sentence("login.the-provider-did-not-send-a-subject"));
  const named = readClaimTexts(nameId).find((id) => id.includes("@")) ?? null;
  const groups = row.groupsAttribute === null ? null : readGroupClaim(attributes, row.groupsAttribute);
  return {
    subject,
    email: firstOf(row.emailAttribute ? [row.emailAttribute] : EMAIL_ATTRIBUTES) ?? named,
    name: firstOf(row.nameAttribute ? [row.nameAttribute] : NAME_ATTRIBUTES),
    groups: groups?.map((name) => ({ name, externalId: null })) ?? null,
  };
}

/** Splits PEM text into certificates. */
export function splitCertificates(pem: string | null): string[] {
  return pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

async function test(row: IdentityProviderRow, deps: ProviderDeps): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const now = deps.clock.now();
  for (const pem of splitCertificates(row.idpCertificates)) {
    await runCheck(
      checks,
      "certificate",
      async () => readExpiry(pem, now),
      (end) => ({ code: "good-until", value: end, words: sentence("provider-test.valid-until", { date: end }) }),
    );
  }
  const { consumerUrl, metadataUrl } = buildProviderUrls(row, deps.baseUrl());
  await runCheck(
    checks,
    "page",
    () => begin(row, deps, randomUUID()),
    () => ({
      code: "log-in-page",
      value: row.entryPoint,
      words: sentence("provider-test.login-page-saml", {
        url: row.entryPoint ?? "",
        metadata: metadataUrl,
        consumer: consumerUrl,
      }),
    }),
  );
  await runCheck(checks, "groups", async () => row, groupsAttributeFinding);
  return checks;
}

function readExpiry(pem: string, now: number): string {
  const { validTo, subject } = readCertificate(pem);
  if (Date.parse(validTo) < now)
    throw new LoginError(
      "signature",
      sentence("login.the-certificate-of-subject-expired-on-date", { subject, date: validTo }),
    );
  return new Date(Date.parse(validTo)).toISOString().slice(0, 10);
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LoginError("signature", sentence("provider-test.certificate-unreadable", { reason }));
  }
}
