import { X509Certificate } from "node:crypto";
import { assertBreakGlassAccount } from "../auth/break-glass.ts";
import { buildProviderKey, type IdentityProviderRow, isBuiltInEnabled } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue, notFound, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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

/** Required fields of an enabled provider, by type. */
const REQUIRED_FIELDS: Readonly<Record<IdentityProviderRow["type"], readonly (keyof IdentityProviderRow)[]>> = {
  oidc: ["issuer", "clientId"],
  ldap: ["url", "userBase"],
  saml: ["entryPoint", "idpCertificates"],
  "built-in": [],
};

/** Dependencies of the provider hooks. */
export interface ProviderHooksDeps {
  policy: SsrfGuard;
  clock: Clock;
  baseUrl(): string;
}

/**
 * Hooks of identity providers. Enabled providers must have the fields of their type and addresses that the SSRF guard
 * allows. The built-in provider cannot be deleted, and can be disabled only while a break-glass account exists.
 * Deleting a provider deletes its groups; its users stay and become local accounts. Only super users may change
 * providers, because a provider can authenticate anyone.
 * @source docs/decisions/0402-identity-providers.md, Providers
 */
export function providerHooks({ policy, clock, baseUrl }: ProviderHooksDeps): ResourceHooks<typeof identityProviders> {
  return {
    async prepare(input, op) {
      // Before the user is known, only a format that never changes can be recognised again.
      if (op === "create" && input.type === "saml" && input.nameIdFormat === undefined && !input.subjectAttribute)
        input.nameIdFormat = "persistent";
      await checkIssuer(input.issuer, policy);
      await checkDirectory(input.url, policy);
      for (const field of ["idpCertificates", "caCertificates", "spCertificate"])
        checkCertificates(field, input[field]);
      const { syncSchedule } = input;
      if (typeof syncSchedule === "string" && syncSchedule !== "" && !isCronExpression(syncSchedule))
        throw invalidValue(
          "syncSchedule",
          sentence("field.must-be-a-cron-expression-of-five-or-six-fields-such-as-15-3"),
        );
    },
    beforeWrite: checkProvider,
    afterWrite(change, tx) {
      if (change.after?.type === "built-in" && !isBuiltInEnabled(tx)) assertBreakGlassAccount(tx, clock.now());
    },
    removeInChunks: removeProvider,
    present: (rows) =>
      rows.map((row) => {
        const { redirectUri, consumerUrl, ...urls } = buildProviderUrls(row, baseUrl());
        const callbackUrl = row.type === "oidc" ? redirectUri : row.type === "saml" ? consumerUrl : null;
        const isSaml = row.type === "saml";
        return {
          isDefault: row.type === "built-in",
          redirectUri: callbackUrl,
          backChannelLogoutUrl: row.type === "oidc" ? urls.backChannelLogoutUrl : null,
          singleLogoutUrl: isSaml ? urls.singleLogoutUrl : null,
          metadataUrl: isSaml ? urls.metadataUrl : null,
        };
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
    throw op === "create"
      ? invalidValue("type", sentence("field.must-be-oidc-ldap-or-saml-the-built-in-provider-already-exists"))
      : builtInConflict();
  }
  // Disabled providers may be incomplete.
  if (!after?.enabled) return;
  for (const field of REQUIRED_FIELDS[after.type])
    if (after[field] === null || after[field] === "") throw requiredValue(field);
  if (given.has("startTls") && after.startTls && after.url?.startsWith("ldaps:")) {
    throw invalidValue("startTls", sentence("field.must-be-false-with-ldaps-which-uses-tls-from-the-start"));
  }
  if (after.type === "saml" && after.spPrivateKey && !after.spCertificate) throw requiredValue("spCertificate");
}

/** The issuer must use TLS, except on loopback. @source OpenID Connect Core 1.0 §16.17 */
async function checkIssuer(issuer: unknown, policy: SsrfGuard): Promise<void> {
  if (typeof issuer !== "string" || !URL.canParse(issuer)) return;
  const { protocol, hostname } = new URL(issuer);
  if (protocol === "http:" && !/^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname))
    throw invalidValue("issuer", sentence("field.must-begin-with-https"));
  await assertHostAllowed("issuer", hostname, policy);
}

async function checkDirectory(url: unknown, policy: SsrfGuard): Promise<void> {
  if (typeof url !== "string" || url === "") return;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed && parsed.username === "" && parsed.search === "" && /^\/?$/.test(parsed.pathname);
  if (!isPlain || !/^ldaps?:$/.test(parsed.protocol) || parsed.hostname === "")
    throw invalidValue("url", sentence("field.must-be-ldap-or-ldaps-with-a-host-and-an-optional-port"));
  await assertHostAllowed("url", parsed.hostname, policy);
}

function checkCertificates(field: string, value: unknown): void {
  if (typeof value !== "string" || value === "") return;
  const all = splitCertificates(value);
  const isValid = (pem: string): boolean => {
    try {
      return new X509Certificate(pem).subject !== "";
    } catch {
      return false;
    }
  };
  if (all.length === 0 || !all.every(isValid))
    throw invalidValue(field, sentence("field.must-be-certificates-in-pem-format"));
}

function builtInConflict(): ConflictError {
  return new ConflictError(sentence("conflict.the-built-in-provider-must-not-be-deleted-disable-it"));
}

/** Users unlinked in one transaction: a few milliseconds. */
const CHUNK_SIZE = 25;

/**
 * Deletes a provider and the rights it gave, in chunks. It is disabled first, so that no login starts in between, and
 * deleted last, so that repeating the call completes an interrupted deletion.
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
  // Groups and users may be outside the caller's domain, or owned by the cloud.
  const system: ActorContext = { actor: { ...by.actor, kind: "system" }, scope: fullScope(() => null) };
  for (const group of store.find(scimGroups, { identityProviderId: id }, 10_000)) {
    await store.remove(scimGroups, group.id, system);
  }
  const sql = "SELECT id FROM users WHERE provider_key >= ? AND provider_key < ?";
  const known = store.all<{ id: string }>(sql, buildProviderKey(id, ""), `${id}!`);
  for (let at = 0; at < known.length; at += CHUNK_SIZE) {
    await store.write((tx) => {
      for (const user of known.slice(at, at + CHUNK_SIZE)) {
        if (tx.get(users, user.id)) tx.update(users, user.id, {}, system, { providerKey: null });
      }
    });
  }
  await store.write((tx) => tx.remove(identityProviders, id, by));
}
