import { derivedId } from "../base/ids.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";
import { verifyPassword } from "./passwords.ts";
import type { Access } from "./principal.ts";

type User = RowOf<typeof users>;

/** Who vouches for users. A directory or another site's log-in would be a further one. */
export interface IdentityProvider {
  /** The audience of client credentials. */
  readonly id: string;
  readonly name: string;
  readonly type: "built-in";
  /** Whether it is asked for users of whom nobody knows whose they are. */
  readonly isDefault: boolean;
  /**
   * Whose address it is, null when nobody's, and whether the password is that user's; takes about the same time whatever
   * is wrong. Says nothing of whether the user may log in.
   */
  verify(account: { email: string; password: string }): Promise<Verdict>;
}

/** What a provider says of somebody who wants in. */
export interface Verdict {
  user: User | null;
  right: boolean;
}

/** The provider that keeps passwords here, by the root domain's id. */
export function builtInProvider(rootId: string): Pick<IdentityProvider, "id" | "name" | "type" | "isDefault"> {
  return { id: derivedId("identity-provider", rootId), name: "built-in", type: "built-in", isDefault: true };
}

/** A provider as it is shown. */
export function shownProvider({ id, name, type, isDefault }: ReturnType<typeof builtInProvider>) {
  return { id, name, type, isDefault, enabled: true, selfRegistrationEnabled: false };
}

/** All providers, the default one first; empty before `init`. */
export function identityProviders(store: Store, access: Access): readonly IdentityProvider[] {
  const builtIn = access.identityProvider();
  return builtIn
    ? [{ ...builtIn, type: "built-in", isDefault: true, verify: (account) => verify(store, account) }]
    : [];
}

async function verify(store: Store, { email, password }: { email: string; password: string }): Promise<Verdict> {
  const found = store.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email.trim());
  const user = found && store.byPk(users, found.pk);
  return { user, right: await verifyPassword(password, user?.passwordHash ?? null) };
}
