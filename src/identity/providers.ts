import type { AskProviders, ProviderRow } from "../access/identity-providers.ts";
import { isBuiltInEnabled, providerOf } from "../access/identity-providers.ts";
import { CallerError } from "../base/errors.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { By, Sync } from "../store/store.ts";
import { accountOf, MOST_MADE } from "./accounts.ts";
import { directoryProvider } from "./directory.ts";
import { LogInFault } from "./log-in-fault.ts";
import { openIdProvider } from "./open-id.ts";
import type { MakeProvider, Provider, ProviderNeeds, Vouched } from "./provider.ts";
import { samlProvider } from "./saml.ts";

/** Every kind of provider but the built-in one: each a file of its own. */
const KINDS: Readonly<Record<Exclude<ProviderRow["type"], "built-in">, MakeProvider>> = {
  oidc: openIdProvider,
  ldap: directoryProvider,
  saml: samlProvider,
};

/** What a provider was told of itself is asked for anew after so long. own choice */
const REMADE_MS = 3_600_000;

/** A way in that the log-in page shows a button for. */
export interface Door {
  id: string;
  name: string;
}

/** All providers but the built-in one. */
export interface Providers {
  /** Ways in by another site's pages, by their names. */
  doors(): readonly Door[];
  /** Whether addresses and passwords are taken at all, and whether names of a directory are, too. */
  passwords(): { taken: boolean; directory: boolean };
  /** Whose passwords are kept elsewhere is asked there; so is who is unknown here, or has no password. */
  ask: AskProviders;
  /** The provider of a row, whether it is enabled or not. */
  made(row: ProviderRow): Provider;
  /** An enabled provider. Throws LogInFault `off`. */
  enabled(id: string): { row: ProviderRow; provider: Provider };
  /** The user whom a provider vouches for, as `accountOf` finds or makes it. Throws LogInFault. */
  account(row: ProviderRow, vouched: Vouched): Promise<{ id: string }>;
}

/** Makes the providers; nothing is connected, and no library loaded, until somebody logs in by one. */
export function createProviders(needs: ProviderNeeds & { by: By }): Providers {
  const { store, clock, by } = needs;
  const kept = new Map<string, { row: ProviderRow; madeAt: number; provider: Provider }>();
  const rowsOf = (type: ProviderRow["type"]): ProviderRow[] => store.find(identityProviders, { type, enabled: true });

  function made(row: ProviderRow): Provider {
    if (row.type === "built-in") return { test: async () => [] };
    const now = clock.now();
    const known = kept.get(row.id);
    if (known && known.row.updatedAt === row.updatedAt && now - known.madeAt < REMADE_MS) return known.provider;
    const provider = KINDS[row.type](row, needs);
    kept.set(row.id, { row, madeAt: now, provider });
    return provider;
  }

  async function account(row: ProviderRow, vouched: Vouched): Promise<{ id: string }> {
    const writing = { by, now: clock.now(), makes: row.createsGroups ? MOST_MADE : 0 };
    try {
      for (;;) {
        const { id, isWhole } = await store.write((tx) => {
          const { user, isWhole: isDone } = accountOf(tx, row, vouched, writing);
          return { id: user.id, isWhole: isDone } as Sync<{ id: string; isWhole: boolean }>;
        });
        if (isWhole) return { id };
      }
    } catch (error) {
      if (error instanceof LogInFault || !(error instanceof CallerError)) throw error;
      throw new LogInFault("answer", `What the provider says can't be kept: ${error.message}`);
    }
  }

  async function askOne(row: ProviderRow, login: string, password: string): Promise<string | null> {
    const vouched = await made(row).password?.verify({ login, password });
    return vouched ? (await account(row, vouched)).id : null;
  }

  return {
    doors: () =>
      [...rowsOf("oidc"), ...rowsOf("saml")]
        .map(({ id, name }) => ({ id, name }))
        .sort((a, b) => a.name.localeCompare(b.name)),
    passwords() {
      const directory = rowsOf("ldap").length > 0;
      return { taken: directory || isBuiltInEnabled(store), directory };
    },
    made,
    enabled(id) {
      const row = store.get(identityProviders, id);
      if (!row?.enabled) throw new LogInFault("off", "There is no such provider that is enabled.");
      return { row, provider: made(row) };
    },
    account,
    async ask({ email, password }, local) {
      const { user, right } = local;
      if (right || user?.breakGlass) return local;
      const own = user && providerOf(store, user);
      // A password is shown to the one provider that keeps it, where that is known.
      const isKeptHere = user?.passwordHash != null && isBuiltInEnabled(store);
      const asked = own ? (own.enabled ? [own] : []) : isKeptHere ? [] : rowsOf("ldap");
      for (const row of asked) {
        const id = await askOne(row, email, password).catch(refusedOf);
        if (id !== null) return { user: store.get(users, id), right: true };
      }
      return local;
    },
  };
}

/** Whoever has no account here is refused like anybody else. */
function refusedOf(error: unknown): null {
  if (error instanceof LogInFault) return null;
  throw error;
}
