import { derivedId } from "../lib/ids.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { verifyPassword } from "./passwords.ts";

type User = RowOf<typeof users>;

/** A provider as its row. */
export type IdentityProviderRow = RowOf<typeof identityProviders>;

/** What is known of somebody who wants in. */
export interface LoginResult {
  /** Whose account it is, null when nobody's. */
  user: User | null;
  /** Whether that was proven. */
  isVerified: boolean;
}

/**
 * What other providers than the built-in one make of an address and a password; `local` is what the own passwords say of
 * them. Throws UpstreamError when the one that must be asked can't be reached, TooManyRequestsError after too many wrong passwords.
 */
export type VerifyWithProviders = (
  account: { email: string; password: string },
  local: LoginResult,
) => Promise<LoginResult>;

/** The provider that keeps passwords here, by the root domain's id. */
export function builtInProviderFor(rootId: string): { id: string; name: string } {
  return { id: derivedId("identity-provider", rootId), name: "built-in" };
}

/** Writes the row of the built-in provider where it is missing; an appliance that joined an organisation has another root since. */
export function ensureBuiltInProvider(tx: Transaction, rootId: string, by: ActorContext): void {
  const { id, name } = builtInProviderFor(rootId);
  const [known] = tx.find(identityProviders, { type: "built-in" }, 1);
  if (!known) tx.create(identityProviders, { name, type: "built-in" }, by, { id });
  else if (known.id !== id) tx.run(`UPDATE main.${tableName(identityProviders)} SET id = ? WHERE id = ?`, id, known.id);
}

/** Whether users without another provider may log in with their passwords. */
export function isBuiltInEnabled(reader: StoreReader): boolean {
  const [row] = reader.find(identityProviders, { type: "built-in" }, 1);
  return row === undefined || row.enabled;
}

/** A provider as users show it. */
export function serializeProvider({ id, name, type, enabled, selfRegistrationEnabled }: IdentityProviderRow) {
  return { id, name, type, isDefault: type === "built-in", enabled, selfRegistrationEnabled };
}

/** The key by which a user is known whom the provider vouches for; `subject` is what that calls the user. */
export function buildProviderKey(providerId: string, subject: string): string {
  return `${providerId} ${subject}`;
}

/** The provider other than the built-in one that vouches for a user; null without, or when it is no longer there. */
export function findUserProvider(reader: StoreReader, user: Pick<User, "providerKey">): IdentityProviderRow | null {
  const id = user.providerKey?.split(" ", 1)[0];
  return id === undefined ? null : reader.get(identityProviders, id);
}

/**
 * What the own passwords say of an account; takes about the same time whatever is wrong, and says nothing of whether the
 * user may log in.
 */
export async function verifyLocalPassword(
  store: Store,
  { email, password }: { email: string; password: string },
): Promise<LoginResult> {
  const found = store.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email.trim());
  const user = found && store.getByPk(users, found.pk);
  const isKeptHere = user !== null && findUserProvider(store, user) === null;
  const right = await verifyPassword(password, isKeptHere ? user.passwordHash : null);
  return { user, isVerified: right && (user?.breakGlass === true || isBuiltInEnabled(store)) };
}
