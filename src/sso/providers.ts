import type { IdentityProviderRow, VerifyWithProviders } from "../auth/identity-providers.ts";
import { findUserProvider, isBuiltInEnabled } from "../auth/identity-providers.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { ActorContext, Sync } from "../store/store.ts";
import { hasProviderGroup, MAX_GROUPS_PER_LOGIN, provisionAccount } from "./account-provisioning.ts";
import { createLdapProvider } from "./ldap-provider.ts";
import { LoginError } from "./login-error.ts";
import type { MissingGroups } from "./missing-groups.ts";
import { createOidcProvider } from "./oidc-provider.ts";
import type { ExternalIdentity, PasswordAttempt, Provider, ProviderDeps, ProviderFactory } from "./provider.ts";
import { createSamlProvider } from "./saml-provider.ts";

/** Factories of the provider types other than built-in. */
const FACTORIES: Readonly<Record<Exclude<IdentityProviderRow["type"], "built-in">, ProviderFactory>> = {
  oidc: createOidcProvider,
  ldap: createLdapProvider,
  saml: createSamlProvider,
};

/** A provider is recreated after this time, so that its metadata is read again. */
const PROVIDER_LIFETIME_MS = 3_600_000;

/** A provider for which the login page shows a button. */
export interface LoginOption {
  id: string;
  name: string;
}

/** All providers but the built-in one. */
export interface IdentityProviders {
  /** Enabled providers with redirect login, sorted by name. */
  loginOptions(): readonly LoginOption[];
  /** Whether password login is enabled (`taken`), and whether directory user names are accepted. */
  passwordLoginOptions(): { taken: boolean; directory: boolean };
  /** Verifies passwords of accounts of a directory, and of unknown accounts and accounts without a local password. */
  verifyCredentials: VerifyWithProviders;
  /** The provider of a row, even if it is disabled. */
  providerFor(row: IdentityProviderRow): Provider;
  /** Tests a provider as if it had never been asked: what is known of it may be an hour old. */
  test(row: IdentityProviderRow): ReturnType<Provider["test"]>;
  /** An enabled provider. Throws LoginError `off`. */
  requireEnabled(id: string): { row: IdentityProviderRow; provider: Provider };
  /** Finds or creates the account of an identity, see `account-provisioning.ts`. Throws LoginError. */
  provisionAccount(row: IdentityProviderRow, identity: ExternalIdentity): Promise<{ id: string }>;
}

/** Creates the registry of providers; connects and loads libraries only on the first login. */
export function createIdentityProviders(
  deps: ProviderDeps & { by: ActorContext; log: Log; missingGroups: MissingGroups },
): IdentityProviders {
  const { store, clock, by } = deps;
  const cache = new Map<string, { row: IdentityProviderRow; madeAt: number; provider: Provider }>();
  const enabledRows = (type: IdentityProviderRow["type"]): IdentityProviderRow[] =>
    store.find(identityProviders, { type, enabled: true });

  const createProvider = (row: IdentityProviderRow): Provider =>
    row.type === "built-in" ? { test: async () => [] } : FACTORIES[row.type](row, deps);

  function providerFor(row: IdentityProviderRow): Provider {
    const now = clock.now();
    const known = cache.get(row.id);
    if (known && known.row.updatedAt === row.updatedAt && now - known.madeAt < PROVIDER_LIFETIME_MS)
      return known.provider;
    const provider = createProvider(row);
    cache.set(row.id, { row, madeAt: now, provider });
    return provider;
  }

  async function provisionFromIdentity(row: IdentityProviderRow, identity: ExternalIdentity): Promise<{ id: string }> {
    const context = { by, now: clock.now(), remainingGroups: row.createsGroups ? MAX_GROUPS_PER_LOGIN : 0 };
    try {
      for (;;) {
        const { id, isWhole } = await store.write((tx) => {
          const { user, isComplete: isDone } = provisionAccount(tx, row, identity, context);
          return { id: user.id, isWhole: isDone } as Sync<{ id: string; isWhole: boolean }>;
        });
        if (!isWhole) continue;
        if (identity.groups !== null) deps.missingGroups.clear(row, id);
        else if (readsGroups(row) && hasProviderGroup(store, row, id)) deps.missingGroups.note(row, id);
        return { id };
      }
    } catch (error) {
      if (error instanceof LoginError || !(error instanceof CallerError)) throw error;
      throw new LoginError("answer", sentence("login.the-identity-is-not-valid-reason", { reason: error.message }));
    }
  }

  /**
   * Asks directories at the same time, so that one that is down delays or locks out none of the users of the others.
   * Null if none knows the password; throws if none does and one could not be asked.
   */
  async function verifyWithAny(rows: readonly IdentityProviderRow[], account: PasswordAttempt) {
    const unknown = new CallerError("unauthorized", sentence("login.the-directory-does-not-accept-the-password"));
    const asked = rows.map(async (row) => {
      const identity = await providerFor(row)
        .password?.verify(account)
        .catch(ignoreLoginError)
        .catch((error: unknown) => hideAddress(row, error, deps.log));
      if (!identity) throw unknown;
      return { row, identity };
    });
    try {
      const { row, identity } = await Promise.any(asked);
      return await provisionFromIdentity(row, identity).catch(ignoreLoginError);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      const failure = error.errors.find((each) => each !== unknown);
      if (failure !== undefined) throw failure;
      return null;
    }
  }

  return {
    loginOptions: () =>
      [...enabledRows("oidc"), ...enabledRows("saml")]
        .map(({ id, name }) => ({ id, name }))
        .sort((a, b) => a.name.localeCompare(b.name)),
    passwordLoginOptions() {
      const directory = enabledRows("ldap").length > 0;
      return { taken: directory || isBuiltInEnabled(store), directory };
    },
    providerFor,
    test: (row) => createProvider(row).test(),
    requireEnabled(id) {
      const row = store.get(identityProviders, id);
      if (!row?.enabled)
        throw new LoginError("off", sentence("login.the-identity-provider-was-not-found-or-is-disabled"));
      return { row, provider: providerFor(row) };
    },
    provisionAccount: provisionFromIdentity,
    async verifyCredentials({ email, password, from }, local) {
      const { user, isVerified } = local;
      if (isVerified || user?.breakGlass) return local;
      const provider = user && findUserProvider(store, user);
      // If the owner of the password is known, it is sent to that provider only.
      const isLocal = user?.passwordHash != null && isBuiltInEnabled(store);
      const candidates = provider ? (provider.enabled ? [provider] : []) : isLocal ? [] : enabledRows("ldap");
      const found = await verifyWithAny(candidates, { login: email, password, from });
      return found ? { user: store.get(users, found.id), isVerified: true } : local;
    },
  };
}

function readsGroups({ type, groupsAttribute, groupBase }: IdentityProviderRow): boolean {
  return Boolean(type === "ldap" ? groupBase : groupsAttribute);
}

/** Callers that are not logged in see neither hosts nor errors of libraries; these are logged. Always throws. */
function hideAddress({ id, name }: IdentityProviderRow, error: unknown, log: Log): never {
  if (!(error instanceof UpstreamError)) throw error;
  log.warn({ event: "sso.directory_unreachable", providerId: id, err: error }, "Directory could not check a password.");
  throw new UpstreamError(
    "upstream",
    sentence("login.name-cannot-be-reached-try-again-later", { name }),
    { provider: id },
    error,
  );
}

/** A missing account is refused like a wrong password. */
function ignoreLoginError(error: unknown): null {
  if (error instanceof LoginError) return null;
  throw error;
}
