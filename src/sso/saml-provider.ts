import { hash, randomUUID, X509Certificate } from "node:crypto";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { readClaimTexts } from "./claim-values.ts";
import { LoginError } from "./login-error.ts";
import { consumeValue, type KindLimit, putIfAbsent } from "./login-state-store.ts";
import { LOGIN_TIMEOUT_MS } from "./pending-login.ts";
import {
  buildProviderUrls,
  type CallbackParameters,
  type ExternalIdentity,
  groupsAttributeFinding,
  type Provider,
  type ProviderCheck,
  type ProviderDeps,
  runCheck,
} from "./provider.ts";
import type { SamlAssertion, SamlConfig } from "./saml-worker-messages.ts";

/** How long an assertion that names no end is known by. own choice: longer than any is taken */
const DEFAULT_ASSERTION_MS = 86_400_000;
/**
 * Log-ins that await their answer, in ten minutes; each is some 200 bytes, and a begin counts them in 0.4 ms. own choice: more
 * than people begin at eight o'clock. Anybody may begin one, so the oldest go: whoever begins thousands cuts off none but
 * those that take longer than that, while a refusal would keep everybody out for ten minutes.
 */
const PENDING_REQUEST_LIMIT: KindLimit = { kind: "request", maxEntries: 10_000 };
/** Attributes by which providers of the field tell a mail address and a name, when the row names none. */
const EMAIL_ATTRIBUTES = ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3"];
const NAME_ATTRIBUTES = ["name", "displayName", "cn", "urn:oid:2.16.840.1.113730.3.1.241"];

/**
 * SAML 2: requests by redirect, answers by POST. Assertions must be signed, meant for this appliance, in answer to a request
 * of ours that is not older than ten minutes, and good now; each counts once, over restarts too.
 * @source SAML 2.0 Profiles §4.1; SAML 2.0 Core §2.5
 */
export function createSamlProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  return {
    test: () => test(row, deps),
    redirect: {
      begin: async (relay) => ({ location: await begin(row, deps, relay), kept: {} }),
      finish: (brought) => finish(row, deps, brought),
      buildLogoutUrl: async () => null,
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
 * Id of the request of a log-in. The relay comes back unsigned and the id is signed, so that an assertion that somebody
 * caught is worth nothing in a log-in of the catcher's own.
 */
function requestIdOf(relay: string): string {
  return `_${hash("sha256", relay, "hex")}`;
}

/** Under what a request is kept that awaits its answer. */
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
    idpIssuer: row.idpIssuer,
    idpCertificates: splitCertificates(row.idpCertificates),
    clockToleranceMs: row.clockToleranceInSecs * 1_000,
  };
}

function entityIdOf(row: IdentityProviderRow, { baseUrl }: ProviderDeps): string {
  return row.spIssuer || buildProviderUrls(row, baseUrl()).metadataUrl;
}

async function finish(
  row: IdentityProviderRow,
  deps: ProviderDeps,
  brought: CallbackParameters,
): Promise<ExternalIdentity> {
  const { SAMLResponse: response = "", RelayState = "" } = brought;
  const request = requestIdOf(RelayState);
  // Each log-in has one answer read: reading is dear, and anybody may post.
  const requestedAt = await consumeValue(deps.store, requestKey(row, request), deps.clock.now());
  if (requestedAt === null) throw new LoginError("replayed", "No log-in awaits this answer.");
  const parties = readSamlConfig(row, deps);
  const said = await deps.saml.validateResponse({ what: "read", parties, request, requestedAt, response });
  if (row.idpIssuer && said.issuer !== row.idpIssuer) {
    throw new LoginError("audience", "The assertion is of another provider.");
  }
  assertBearer(said, request, parties.consumerUrl);
  await assertNotReplayed(row, deps, said);
  return readIdentity(row, said);
}

/**
 * The library looks at the answer around the assertion, which is not signed, for its issuer and request; this is what is.
 * Throws LoginError.
 * @source SAML 2.0 Profiles §4.1.4.3
 */
function assertBearer({ bearers }: SamlAssertion, request: string, consumerUrl: string): void {
  const here = bearers.filter(({ recipient }) => recipient === consumerUrl);
  if (here.length === 0) throw new LoginError("audience", "The assertion is not for this address.");
  if (!here.some(({ inResponseTo }) => inResponseTo === request)) {
    throw new LoginError("replayed", "The assertion answers another request.");
  }
}

/** Throws LoginError `replayed` for an assertion that was used before. */
async function assertNotReplayed(
  row: IdentityProviderRow,
  { store, clock }: ProviderDeps,
  said: SamlAssertion,
): Promise<void> {
  const { assertionId: id, notOnOrAfter } = said;
  if (id === null) throw new LoginError("answer", "The assertion has no id.");
  const now = clock.now();
  const end = Date.parse(notOnOrAfter ?? "");
  const until = (Number.isNaN(end) ? now + DEFAULT_ASSERTION_MS : end) + 2 * row.clockToleranceInSecs * 1_000;
  const isNew = await putIfAbsent(store, { key: `assertion ${row.id} ${id}`, value: "", until, now });
  if (!isNew) throw new LoginError("replayed", "The assertion was used already.");
}

function readIdentity(row: IdentityProviderRow, { nameId, attributes }: SamlAssertion): ExternalIdentity {
  const firstOf = (names: readonly string[]): string | null =>
    names.flatMap((name) => readClaimTexts(attributes[name]))[0] ?? null;
  const subject = row.subjectAttribute ? firstOf([row.subjectAttribute]) : (readClaimTexts(nameId)[0] ?? null);
  if (subject === null) throw new LoginError("answer", "The provider did not say who it is.");
  const named = readClaimTexts(nameId).find((id) => id.includes("@")) ?? null;
  const groups = row.groupsAttribute === null ? null : readClaimTexts(attributes[row.groupsAttribute]);
  return {
    subject,
    email: firstOf(row.emailAttribute ? [row.emailAttribute] : EMAIL_ATTRIBUTES) ?? named,
    name: firstOf(row.nameAttribute ? [row.nameAttribute] : NAME_ATTRIBUTES),
    groups: groups?.map((name) => ({ name, externalId: null })) ?? null,
  };
}

/** The certificates of a text in PEM form, one by one. */
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
      (end) => ({ code: "good-until", value: end, words: `What it signs can be checked until ${end}.` }),
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
      words: `People log in at ${row.entryPoint}. It must know ${metadataUrl} and answer to ${consumerUrl}.`,
    }),
  );
  await runCheck(checks, "groups", async () => row, groupsAttributeFinding);
  return checks;
}

function readExpiry(pem: string, now: number): string {
  const { validTo, subject } = new X509Certificate(pem);
  if (Date.parse(validTo) < now) throw new LoginError("signature", `The certificate of ${subject} ended ${validTo}.`);
  return new Date(Date.parse(validTo)).toISOString().slice(0, 10);
}
