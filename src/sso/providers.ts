import type { IdentityProviderRow, VerifyWithProviders } from "../auth/identity-providers.ts";
import { findUserProvider, isBuiltInEnabled } from "../auth/identity-providers.ts";
import { CallerError } from "../lib/errors.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { ActorContext, Sync } from "../store/store.ts";
import { MAX_GROUPS_PER_LOGIN, provisionAccount } from "./account-provisioning.ts";
import { createLdapProvider } from "./ldap-provider.ts";
import { LoginError } from "./login-error.ts";
import { createOidcProvider } from "./oidc-provider.ts";
import type { ExternalIdentity, Provider, ProviderDeps, ProviderFactory } from "./provider.ts";
import { createSamlProvider } from "./saml-provider.ts";

/** Every kind of provider but the built-in one: each a file of its own. */
const FACTORIES: Readonly<Record<Exclude<IdentityProviderRow["type"], "built-in">, ProviderFactory>> = {
  oidc: createOidcProvider,
  ldap: createLdapProvider,
  saml: createSamlProvider,
};

/** What a provider was told of itself is asked for anew after so long. own choice */
const PROVIDER_LIFETIME_MS = 3_600_000;

/** A way in that the log-in page shows a button for. */
export interface LoginOption {
  id: string;
  name: string;
}

/** All providers but the built-in one. */
export interface IdentityProviders {
  /** Ways in by another site's pages, by their names. */
  loginOptions(): readonly LoginOption[];
  /** Whether addresses and passwords are taken at all, and whether names of a directory are, too. */
  passwordLoginOptions(): { taken: boolean; directory: boolean };
  /** Whose passwords are kept elsewhere is asked there; so is who is unknown here, or has no password. */
  verifyCredentials: VerifyWithProviders;
  /** The provider of a row, whether it is enabled or not. */
  providerFor(row: IdentityProviderRow): Provider;
  /** An enabled provider. Throws LoginError `off`. */
  requireEnabled(id: string): { row: IdentityProviderRow; provider: Provider };
  /** The user whom a provider vouches for, as `accountOf` finds or makes it. Throws LoginError. */
  provisionAccount(row: IdentityProviderRow, vouched: ExternalIdentity): Promise<{ id: string }>;
}

/** Makes the providers; nothing is connected, and no library loaded, until somebody logs in by one. */
export function createIdentityProviders(deps: ProviderDeps & { by: ActorContext }): IdentityProviders {
  const { store, clock, by } = deps;
  const kept = new Map<string, { row: IdentityProviderRow; madeAt: number; provider: Provider }>();
  const enabledRows = (type: IdentityProviderRow["type"]): IdentityProviderRow[] =>
    store.find(identityProviders, { type, enabled: true });

  function providerFor(row: IdentityProviderRow): Provider {
    if (row.type === "built-in") return { test: async () => [] };
    const now = clock.now();
    const known = kept.get(row.id);
    if (known && known.row.updatedAt === row.updatedAt && now - known.madeAt < PROVIDER_LIFETIME_MS)
      return known.provider;
    const provider = FACTORIES[row.type](row, deps);
    kept.set(row.id, { row, madeAt: now, provider });
    return provider;
  }

  async function provisionFromIdentity(row: IdentityProviderRow, vouched: ExternalIdentity): Promise<{ id: string }> {
    const writing = { by, now: clock.now(), makes: row.createsGroups ? MAX_GROUPS_PER_LOGIN : 0 };
    try {
      for (;;) {
        const { id, isWhole } = await store.write((tx) => {
          const { user, isComplete: isDone } = provisionAccount(tx, row, vouched, writing);
          return { id: user.id, isWhole: isDone } as Sync<{ id: string; isWhole: boolean }>;
        });
        if (isWhole) return { id };
      }
    } catch (error) {
      if (error instanceof LoginError || !(error instanceof CallerError)) throw error;
      throw new LoginError("answer", `What the provider says can't be kept: ${error.message}`);
    }
  }

  async function verifyWith(row: IdentityProviderRow, login: string, password: string): Promise<string | null> {
    const vouched = await providerFor(row).password?.verify({ login, password });
    return vouched ? (await provisionFromIdentity(row, vouched)).id : null;
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
    requireEnabled(id) {
      const row = store.get(identityProviders, id);
      if (!row?.enabled) throw new LoginError("off", "There is no such provider that is enabled.");
      return { row, provider: providerFor(row) };
    },
    provisionAccount: provisionFromIdentity,
    async verifyCredentials({ email, password }, local) {
      const { user, isVerified } = local;
      if (isVerified || user?.breakGlass) return local;
      const own = user && findUserProvider(store, user);
      // A password is shown to the one provider that keeps it, where that is known.
      const isKeptHere = user?.passwordHash != null && isBuiltInEnabled(store);
      const asked = own ? (own.enabled ? [own] : []) : isKeptHere ? [] : enabledRows("ldap");
      for (const row of asked) {
        const id = await verifyWith(row, email, password).catch(ignoreLoginError);
        if (id !== null) return { user: store.get(users, id), isVerified: true };
      }
      return local;
    },
  };
}

/** Whoever has no account here is refused like anybody else. */
function ignoreLoginError(error: unknown): null {
  if (error instanceof LoginError) return null;
  throw error;
}
