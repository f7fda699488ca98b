import { hash, randomUUID, X509Certificate } from "node:crypto";
import type { ProviderRow } from "../access/identity-providers.ts";
import { textsIn } from "./attributes.ts";
import { LOG_IN_MS } from "./kept-log-in.ts";
import { LogInFault } from "./log-in-fault.ts";
import {
  addressesOf,
  type Brought,
  groupsFinding,
  type Provider,
  type ProviderCheck,
  type ProviderNeeds,
  tried,
  type Vouched,
} from "./provider.ts";
import type { SamlParties, SamlSaid } from "./saml-questions.ts";
import { type Bound, keepUntil, takeKept } from "./seen.ts";

/** How long an assertion that names no end is known by. own choice: longer than any is taken */
const ASSERTION_MS = 86_400_000;
/**
 * Log-ins that await their answer, in ten minutes; each is some 200 bytes, and a begin counts them in 0.4 ms. own choice: more
 * than people begin at eight o'clock. Anybody may begin one, so the oldest go: whoever begins thousands cuts off none but
 * those that take longer than that, while a refusal would keep everybody out for ten minutes.
 */
const AWAITED: Bound = { kind: "request", most: 10_000 };
/** Attributes by which providers of the field tell a mail address and a name, when the row names none. */
const EMAILS = ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3"];
const NAMES = ["name", "displayName", "cn", "urn:oid:2.16.840.1.113730.3.1.241"];

/**
 * SAML 2: requests by redirect, answers by POST. Assertions must be signed, meant for this appliance, in answer to a request
 * of ours that is not older than ten minutes, and good now; each counts once, over restarts too.
 * @source SAML 2.0 Profiles §4.1; SAML 2.0 Core §2.5
 */
export function samlProvider(row: ProviderRow, needs: ProviderNeeds): Provider {
  return {
    test: () => test(row, needs),
    redirect: {
      begin: async (relay) => ({ location: await begin(row, needs, relay), kept: {} }),
      finish: (brought) => finish(row, needs, brought),
      logOut: async () => null,
      metadata: () => needs.saml.text({ what: "metadata", parties: partiesOf(row, needs) }),
    },
  };
}

async function begin(row: ProviderRow, needs: ProviderNeeds, relay: string): Promise<string> {
  const request = requestOf(relay);
  const location = await needs.saml.text({ what: "url", parties: partiesOf(row, needs), request, relay });
  const now = needs.clock.now();
  const value = new Date(now).toISOString();
  await keepUntil(needs.store, { key: keyOf(row, request), value, until: now + LOG_IN_MS, now }, AWAITED);
  return location;
}

/**
 * Id of the request of a log-in. The relay comes back unsigned and the id is signed, so that an assertion that somebody
 * caught is worth nothing in a log-in of the catcher's own.
 */
function requestOf(relay: string): string {
  return `_${hash("sha256", relay, "hex")}`;
}

/** Under what a request is kept that awaits its answer. */
function keyOf({ id }: ProviderRow, request: string): string {
  return `${AWAITED.kind} ${id} ${request}`;
}

function partiesOf(row: ProviderRow, needs: ProviderNeeds): SamlParties {
  return {
    consumerUrl: addressesOf(row, needs.baseUrl()).consumerUrl,
    issuer: issuerOf(row, needs),
    privateKey: row.spPrivateKey ? needs.store.secrets.open(row.spPrivateKey) : null,
    certificate: row.spCertificate,
    entryPoint: row.entryPoint ?? "",
    idpIssuer: row.idpIssuer,
    idpCertificates: certificatesIn(row.idpCertificates),
    clockToleranceMs: row.clockToleranceInSecs * 1_000,
  };
}

function issuerOf(row: ProviderRow, { baseUrl }: ProviderNeeds): string {
  return row.spIssuer || addressesOf(row, baseUrl()).metadataUrl;
}

async function finish(row: ProviderRow, needs: ProviderNeeds, brought: Brought): Promise<Vouched> {
  const { SAMLResponse: response = "", RelayState = "" } = brought;
  const request = requestOf(RelayState);
  // Each log-in has one answer read: reading is dear, and anybody may post.
  const requestedAt = await takeKept(needs.store, keyOf(row, request), needs.clock.now());
  if (requestedAt === null) throw new LogInFault("replayed", "No log-in awaits this answer.");
  const parties = partiesOf(row, needs);
  const said = await needs.saml.read({ what: "read", parties, request, requestedAt, response });
  if (row.idpIssuer && said.issuer !== row.idpIssuer) {
    throw new LogInFault("audience", "The assertion is of another provider.");
  }
  requireBearer(said, request, parties.consumerUrl);
  await countOnce(row, needs, said);
  return vouchedBy(row, said);
}

/**
 * The library looks at the answer around the assertion, which is not signed, for its issuer and request; this is what is.
 * Throws LogInFault.
 * @source SAML 2.0 Profiles §4.1.4.3
 */
function requireBearer({ bearers }: SamlSaid, request: string, consumerUrl: string): void {
  const here = bearers.filter(({ recipient }) => recipient === consumerUrl);
  if (here.length === 0) throw new LogInFault("audience", "The assertion is not for this address.");
  if (!here.some(({ inResponseTo }) => inResponseTo === request)) {
    throw new LogInFault("replayed", "The assertion answers another request.");
  }
}

/** Throws LogInFault `replayed` for an assertion that was used before. */
async function countOnce(row: ProviderRow, { store, clock }: ProviderNeeds, said: SamlSaid): Promise<void> {
  const { assertionId: id, notOnOrAfter } = said;
  if (id === null) throw new LogInFault("answer", "The assertion has no id.");
  const now = clock.now();
  const end = Date.parse(notOnOrAfter ?? "");
  const until = (Number.isNaN(end) ? now + ASSERTION_MS : end) + 2 * row.clockToleranceInSecs * 1_000;
  const isNew = await keepUntil(store, { key: `assertion ${row.id} ${id}`, value: "", until, now });
  if (!isNew) throw new LogInFault("replayed", "The assertion was used already.");
}

function vouchedBy(row: ProviderRow, { nameId, attributes }: SamlSaid): Vouched {
  const firstOf = (names: readonly string[]): string | null =>
    names.flatMap((name) => textsIn(attributes[name]))[0] ?? null;
  const subject = row.subjectAttribute ? firstOf([row.subjectAttribute]) : (textsIn(nameId)[0] ?? null);
  if (subject === null) throw new LogInFault("answer", "The provider did not say who it is.");
  const named = textsIn(nameId).find((id) => id.includes("@")) ?? null;
  const groups = row.groupsAttribute === null ? null : textsIn(attributes[row.groupsAttribute]);
  return {
    subject,
    email: firstOf(row.emailAttribute ? [row.emailAttribute] : EMAILS) ?? named,
    name: firstOf(row.nameAttribute ? [row.nameAttribute] : NAMES),
    groups: groups?.map((name) => ({ name, externalId: null })) ?? null,
  };
}

/** The certificates of a text in PEM form, one by one. */
export function certificatesIn(pem: string | null): string[] {
  return pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

async function test(row: ProviderRow, needs: ProviderNeeds): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const now = needs.clock.now();
  for (const pem of certificatesIn(row.idpCertificates)) {
    await tried(
      checks,
      "certificate",
      async () => goodUntil(pem, now),
      (end) => ({ code: "good-until", value: end, words: `What it signs can be checked until ${end}.` }),
    );
  }
  const { consumerUrl, metadataUrl } = addressesOf(row, needs.baseUrl());
  await tried(
    checks,
    "page",
    () => begin(row, needs, randomUUID()),
    () => ({
      code: "log-in-page",
      value: row.entryPoint,
      words: `People log in at ${row.entryPoint}. It must know ${metadataUrl} and answer to ${consumerUrl}.`,
    }),
  );
  await tried(checks, "groups", async () => row, groupsFinding);
  return checks;
}

function goodUntil(pem: string, now: number): string {
  const { validTo, subject } = new X509Certificate(pem);
  if (Date.parse(validTo) < now) throw new LogInFault("signature", `The certificate of ${subject} ended ${validTo}.`);
  return new Date(Date.parse(validTo)).toISOString().slice(0, 10);
}
