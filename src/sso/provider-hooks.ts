import { X509Certificate } from "node:crypto";
import { assertBreakGlassAccount } from "../auth/break-glass.ts";
import { buildProviderKey, type IdentityProviderRow, isBuiltInEnabled } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue, notFound, requiredValue } from "../lib/errors.ts";
import { assertHostAllowed, type SsrfGuard } from "../lib/ssrf-guard.ts";
import { assertSuperUser } from "../permissions/privilege-escalation.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import { isCronExpression } from "../settings/cron.ts";
import { fullScope } from "../store/full-scope.ts";
import type { ActorContext, ResourceHooks, RowMutation, Store, StoreReader } from "../store/store.ts";
import { buildProviderUrls } from "./provider.ts";
import { splitCertificates } from "./saml-provider.ts";

/** What each kind can't be without. */
const REQUIRED_FIELDS: Readonly<Record<IdentityProviderRow["type"], readonly (keyof IdentityProviderRow)[]>> = {
  oidc: ["issuer", "clientId"],
  ldap: ["url", "userBase"],
  saml: ["entryPoint", "idpCertificates"],
  "built-in": [],
};

/** What the behaviour of providers needs. */
export interface ProviderHooksDeps {
  policy: SsrfGuard;
  clock: Clock;
  baseUrl(): string;
}

/**
 * Providers have what their kind needs and name places that may be called; the built-in one is always there, and is only
 * switched off while somebody has an account for the case that the others fail. With a provider go its groups; its users
 * stay, and are the built-in one's again. own choice: whom a provider vouches for is anybody here, so providers are the
 * business of those who may do everything.
 */
export function providerHooks({ policy, clock, baseUrl }: ProviderHooksDeps): ResourceHooks<typeof identityProviders> {
  return {
    async prepare(input) {
      await checkIssuer(input.issuer, policy);
      await checkDirectory(input.url, policy);
      for (const field of ["idpCertificates", "caCertificates", "spCertificate"])
        checkCertificates(field, input[field]);
      const { syncSchedule } = input;
      if (typeof syncSchedule === "string" && syncSchedule !== "" && !isCronExpression(syncSchedule))
        throw invalidValue("syncSchedule", "It is a cron expression of five or six fields, such as 15 3 * * *.");
    },
    beforeWrite: checkProvider,
    afterWrite(change, tx) {
      if (change.after?.type === "built-in" && !isBuiltInEnabled(tx)) assertBreakGlassAccount(tx, clock.now());
    },
    removeInChunks: removeProvider,
    present: (rows) =>
      rows.map((row) => {
        const { redirectUri, consumerUrl, metadataUrl } = buildProviderUrls(row, baseUrl());
        const back = row.type === "oidc" ? redirectUri : row.type === "saml" ? consumerUrl : null;
        const isSaml = row.type === "saml";
        return { isDefault: row.type === "built-in", redirectUri: back, metadataUrl: isSaml ? metadataUrl : null };
      }),
  };
}

function checkProvider(
  { op, before, after, given }: RowMutation<typeof identityProviders>,
  _tx: StoreReader,
  by: ActorContext,
): void {
  if (op !== "update" || given.size > 0) assertSuperUser(by);
  const type = (after ?? before)?.type;
  if (type === "built-in" && op !== "update" && by.actor.kind !== "system") {
    throw op === "create" ? invalidValue("type", "The built-in provider is there already.") : builtInConflict();
  }
  // What is not enabled may be half set up.
  if (!after?.enabled) return;
  for (const field of REQUIRED_FIELDS[after.type])
    if (after[field] === null || after[field] === "") throw requiredValue(field);
  if (given.has("startTls") && after.startTls && after.url?.startsWith("ldaps:")) {
    throw invalidValue("startTls", "ldaps:// has TLS from its beginning.");
  }
  if (after.type === "saml" && after.spPrivateKey && !after.spCertificate) throw requiredValue("spCertificate");
}

/** Answers come over TLS, but from this machine. @source OpenID Connect Core 1.0 §16.17 */
async function checkIssuer(issuer: unknown, policy: SsrfGuard): Promise<void> {
  if (typeof issuer !== "string" || !URL.canParse(issuer)) return;
  const { protocol, hostname } = new URL(issuer);
  if (protocol === "http:" && !/^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname))
    throw invalidValue("issuer", "It must begin with https://.");
  await assertHostAllowed("issuer", hostname, policy);
}

async function checkDirectory(url: unknown, policy: SsrfGuard): Promise<void> {
  if (typeof url !== "string" || url === "") return;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed && parsed.username === "" && parsed.search === "" && /^\/?$/.test(parsed.pathname);
  if (!isPlain || !/^ldaps?:$/.test(parsed.protocol) || parsed.hostname === "")
    throw invalidValue("url", "It is ldap:// or ldaps:// with a host and, if need be, a port.");
  await assertHostAllowed("url", parsed.hostname, policy);
}

function checkCertificates(field: string, value: unknown): void {
  if (typeof value !== "string" || value === "") return;
  const all = splitCertificates(value);
  const isGood = (pem: string): boolean => {
    try {
      return new X509Certificate(pem).subject !== "";
    } catch {
      return false;
    }
  };
  if (all.length === 0 || !all.every(isGood)) throw invalidValue(field, "It holds certificates in PEM form.");
}

function builtInConflict(): ConflictError {
  return new ConflictError("The built-in provider can't be deleted; it can be switched off.");
}

/** Users let go of in one transaction: a few milliseconds. own choice */
const CHUNK_SIZE = 25;

/**
 * own choice: rights that a provider gave end with it. It is switched off first, so that nobody comes by it meanwhile, and
 * goes last, so that the same call once more completes what broke off.
 */
async function removeProvider(
  id: string,
  by: ActorContext,
  store: Store,
  check?: (row: IdentityProviderRow) => void,
): Promise<void> {
  const row = store.get(identityProviders, id);
  if (!row) throw notFound();
  check?.(row);
  if (row.type === "built-in") throw builtInConflict();
  assertSuperUser(by);
  await store.write((tx) => void tx.update(identityProviders, id, { enabled: false }, by));
  // They may lie where the caller does not act, or be the cloud's.
  const own: ActorContext = { actor: { ...by.actor, kind: "system" }, scope: fullScope(() => null) };
  for (const group of store.find(scimGroups, { identityProviderId: id }, 10_000)) {
    await store.remove(scimGroups, group.id, own);
  }
  const sql = "SELECT id FROM users WHERE provider_key >= ? AND provider_key < ?";
  const known = store.all<{ id: string }>(sql, buildProviderKey(id, ""), `${id}!`);
  for (let at = 0; at < known.length; at += CHUNK_SIZE) {
    await store.write((tx) => {
      for (const user of known.slice(at, at + CHUNK_SIZE)) {
        if (tx.get(users, user.id)) tx.update(users, user.id, {}, own, { providerKey: null });
      }
    });
  }
  await store.write((tx) => tx.remove(identityProviders, id, by));
}
