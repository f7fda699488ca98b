import { derivedId } from "../lib/ids.ts";
import users from "../resources/people/users.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { verifyPassword } from "./passwords.ts";

type User = RowOf<typeof users>;

/** Row of an identity provider. */
export type IdentityProviderRow = RowOf<typeof identityProviders>;

/** Result of a password check. */
export interface LoginResult {
  /** The account; null if unknown. */
  user: User | null;
  /** True when the password was verified. */
  isVerified: boolean;
}

/**
 * Verifies an address and a password with the other identity providers; `local` is the result of the local password
 * check, `from` the network or browser that the attempt counts for. Throws UpstreamError when the provider cannot be reached, TooManyRequestsError after too many wrong passwords.
 */
export type VerifyWithProviders = (
  account: { email: string; password: string; from: string },
  local: LoginResult,
) => Promise<LoginResult>;

/** The built-in provider, which stores passwords locally; its id derives from the root domain. */
export function builtInProviderFor(rootId: string): { id: string; name: string } {
  return { id: derivedId("identity-provider", rootId), name: "built-in" };
}

/**
 * Creates the row of the built-in provider if missing, and updates its id after the appliance joined another
 * organisation.
 */
export function ensureBuiltInProvider(tx: Transaction, rootId: string, by: ActorContext): void {
  const { id, name } = builtInProviderFor(rootId);
  const [known] = tx.find(identityProviders, { type: "built-in" }, 1);
  if (!known) tx.create(identityProviders, { name, type: "built-in" }, by, { id });
  else if (known.id !== id) tx.run(`UPDATE main.${tableName(identityProviders)} SET id = ? WHERE id = ?`, id, known.id);
}

/** True when users without another provider may log in with their local password. */
export function isBuiltInEnabled(reader: StoreReader): boolean {
  const [row] = reader.find(identityProviders, { type: "built-in" }, 1);
  return row === undefined || row.enabled;
}

/** Serializes a provider as part of a user. */
export function serializeProvider({ id, name, type, enabled, selfRegistrationEnabled }: IdentityProviderRow) {
  return { id, name, type, isDefault: type === "built-in", enabled, selfRegistrationEnabled };
}

/** The `users.providerKey` of an account of a provider; `subject` is the provider's id of the user. */
export function buildProviderKey(providerId: string, subject: string): string {
  return `${providerId} ${subject}`;
}

/** The external provider of a user; null if the user has none or it was deleted. */
export function findUserProvider(reader: StoreReader, user: Pick<User, "providerKey">): IdentityProviderRow | null {
  const id = user.providerKey?.split(" ", 1)[0];
  return id === undefined ? null : reader.get(identityProviders, id);
}

/** The user with this e-mail address, in any case of letters; null if there is none. */
export function findUserByEmail(reader: StoreReader, email: string): User | null {
  const found = reader.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email.trim());
  return found && reader.getByPk(users, found.pk);
}

/**
 * Verifies a local password. Takes about the same time for unknown accounts, so that timing does not reveal whether an
 * account exists. Does not check locks.
 */
export async function verifyLocalPassword(
  store: Store,
  { email, password }: { email: string; password: string },
): Promise<LoginResult> {
  const user = findUserByEmail(store, email);
  const isLocal = user !== null && findUserProvider(store, user) === null;
  const matches = await verifyPassword(password, isLocal ? user.passwordHash : null);
  return { user, isVerified: matches && (user?.breakGlass === true || isBuiltInEnabled(store)) };
}
