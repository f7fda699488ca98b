import { isAccountLocked } from "../auth/account-lock.ts";
import { buildProviderKey, findUserProvider, type IdentityProviderRow } from "../auth/identity-providers.ts";
import { syncUserGroups } from "../permissions/directory-group-members.ts";
import users from "../resources/people/users.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { LoginError } from "./login-error.ts";
import type { ExternalIdentity, ProviderGroup } from "./provider.ts";

type User = RowOf<typeof users>;

/** What a user's address must be; one that is none is left out. */
const EMAIL_CHECKER = compileValidator({ email: users.fields.email });

/** Groups that one log-in may make. own choice */
export const MAX_GROUPS_PER_LOGIN = 200;
/** Groups made, entered and left in one transaction: a few milliseconds. own choice */
const CHUNK_SIZE = 25;

/** On whose behalf and when. */
interface ProvisioningContext {
  by: ActorContext;
  /** Epoch ms. */
  now: number;
  /** Groups that may still be made; counted down. */
  remainingGroups: number;
}

/** A user, and whether it is in all groups that the provider names; if not, the same call in a further transaction goes on. */
interface ProvisionedAccount {
  user: User;
  isComplete: boolean;
}

/**
 * The user whom a provider vouches for, in the groups that it names: known by what the provider calls it, else by the mail
 * address, else made where the provider may. Throws LoginError: `no-account`, `locked`.
 *
 * own choice: an account with `breakGlass`, of another type than regular, or of another provider is taken over by none.
 */
export function provisionAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  told: ExternalIdentity,
  writing: ProvisioningContext,
): ProvisionedAccount {
  const vouched = withValidEmail(told);
  const user =
    findBySubject(tx, row, vouched) ??
    linkByEmail(tx, row, vouched, writing) ??
    createAccount(tx, row, vouched, writing);
  if (isAccountLocked(user.lock, writing.now)) throw new LoginError("locked", "The account is locked.", user.id);
  return syncAccount(tx, row, user, vouched, writing);
}

/** Brings what the provider tells of a user it vouches for in line: name, address, groups. */
export function syncAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  user: User,
  vouched: ExternalIdentity,
  writing: ProvisioningContext,
): ProvisionedAccount {
  const isComplete = vouched.groups === null || syncGroups(tx, row, user, vouched.groups, writing);
  const name = vouched.name?.slice(0, 140) ?? user.name;
  const { email: told } = withValidEmail(vouched);
  const email = told !== null && isEmailFree(tx, told, user) ? told : user.email;
  // Who was here before belongs to whoever made the account.
  if (user.source !== "self-registered" || (name === user.name && email === user.email)) return { user, isComplete };
  return { user: tx.update(users, user.id, { name, email }, writing.by), isComplete };
}

function withValidEmail(vouched: ExternalIdentity): ExternalIdentity {
  const { faults } = EMAIL_CHECKER.validate({ email: vouched.email }, "update");
  return faults.length === 0 ? vouched : { ...vouched, email: null };
}

function findBySubject(tx: StoreReader, row: IdentityProviderRow, { subject }: ExternalIdentity): User | null {
  return tx.find(users, { providerKey: buildProviderKey(row.id, subject) }, 1)[0] ?? null;
}

function linkByEmail(
  tx: Transaction,
  row: IdentityProviderRow,
  { subject, email }: ExternalIdentity,
  { by }: ProvisioningContext,
): User | null {
  const user = email === null ? null : findByEmail(tx, email);
  if (!user) return null;
  if (user.breakGlass || user.type !== "regular" || findUserProvider(tx, user) !== null) {
    throw new LoginError(
      "no-account",
      "The address is that of an account which the provider can't vouch for.",
      user.id,
    );
  }
  // A provider of another appliance keeps it in line; both would take it from each other for ever.
  if (user.providerKey !== null) return user;
  return tx.update(users, user.id, {}, by, { providerKey: buildProviderKey(row.id, subject) });
}

function createAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  { subject, email, name }: ExternalIdentity,
  { by }: ProvisioningContext,
): User {
  if (!row.selfRegistrationEnabled) throw new LoginError("no-account", "The provider vouches for somebody unknown.");
  const input = { name: (name ?? email ?? subject).slice(0, 140), ...(email === null ? {} : { email }) };
  const key = buildProviderKey(row.id, subject);
  return tx.create(users, input, by, { providerKey: key, source: "self-registered", selfRegistered: true });
}

function findByEmail(tx: StoreReader, email: string): User | null {
  const found = tx.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email);
  return found && tx.getByPk(users, found.pk);
}

function isEmailFree(tx: StoreReader, email: string, { pk }: User): boolean {
  const other = findByEmail(tx, email);
  return other === null || other.pk === pk;
}

interface GroupLine extends Record<string, string | number | null> {
  id: string;
  name: string;
  externalId: string | null;
  /** 1 where the user is in it. */
  isIn: number;
}

/** The provider's groups, and which of them a user is in. */
function readProviderGroups(reader: StoreReader, row: IdentityProviderRow, user: User): GroupLine[] {
  return reader.all<GroupLine>(
    `SELECT g.id, g.name, g.external_id AS externalId, EXISTS (SELECT 1 FROM scim_group_members m
       WHERE m.scim_group_pk = g.pk AND m.user_pk = ?) AS isIn
     FROM scim_groups g WHERE g.identity_provider_id = ?`,
    user.pk,
    row.id,
  );
}

/** Whether a user is in groups of the provider, and would be in none were it in those alone that are named. */
export function wouldLoseAllGroups(
  reader: StoreReader,
  row: IdentityProviderRow,
  userId: string,
  named: readonly ProviderGroup[] | null,
): boolean {
  const user = reader.get(users, userId);
  if (!user || named === null || (row.createsGroups && named.length > 0)) return false;
  const lines = readProviderGroups(reader, row, user);
  const known = createGroupMatcher(lines);
  return lines.some(({ isIn }) => isIn === 1) && !named.some((group) => known(group));
}

/** Puts a user into those of the provider's groups that it names, and out of its others first; false where some are left. */
function syncGroups(
  tx: Transaction,
  row: IdentityProviderRow,
  user: User,
  named: readonly ProviderGroup[],
  writing: Pick<ProvisioningContext, "by" | "remainingGroups">,
): boolean {
  const lines = readProviderGroups(tx, row, user);
  const known = createGroupMatcher(lines);
  const wanted = new Set(named.flatMap((group) => known(group)?.id ?? []));
  const changed = lines
    .filter(({ id, isIn }) => wanted.has(id) !== (isIn === 1))
    .sort((one, other) => other.isIn - one.isIn)
    .map(({ id }) => id);
  const among = changed.slice(0, CHUNK_SIZE);
  syncUserGroups(tx, user.id, { wanted: among.filter((id) => wanted.has(id)), among }, writing.by);
  const unknown = new Map(named.filter((group) => !known(group)).map((group) => [groupKey(group), group]));
  const made = [...unknown.values()].slice(0, Math.min(CHUNK_SIZE - among.length, writing.remainingGroups));
  writing.remainingGroups -= made.length;
  for (const group of made) {
    const id = createProviderGroup(tx, row, group, writing.by);
    if (id !== null) syncUserGroups(tx, user.id, { wanted: [id], among: [id] }, writing.by);
  }
  return among.length === changed.length && (made.length === unknown.size || writing.remainingGroups <= 0);
}

function groupKey({ name, externalId }: ProviderGroup): string {
  return (externalId ?? name).toLowerCase();
}

/** Finds what a provider names: by its id where both sides know one, else by the name, which may be the id, too. */
function createGroupMatcher(lines: readonly GroupLine[]): (group: ProviderGroup) => GroupLine | undefined {
  // Of several the oldest counts.
  const newestFirst = lines.toReversed();
  const ids = new Map(newestFirst.flatMap((line) => (line.externalId ? [[line.externalId.toLowerCase(), line]] : [])));
  const names = new Map(newestFirst.map((line) => [line.name.toLowerCase(), line]));
  const bare = new Map(
    newestFirst.flatMap((line) => (line.externalId === null ? [[line.name.toLowerCase(), line]] : [])),
  );
  return ({ name, externalId }) =>
    externalId === null
      ? (names.get(name.toLowerCase()) ?? ids.get(name.toLowerCase()))
      : (ids.get(externalId.toLowerCase()) ?? bare.get(name.toLowerCase()));
}

/** Makes a group and returns its id; null where there is no room for it, or its id is somebody else's. */
function createProviderGroup(
  tx: Transaction,
  row: IdentityProviderRow,
  { name, externalId }: ProviderGroup,
  by: ActorContext,
): string | null {
  const limit = scimGroups.limit?.most ?? Number.POSITIVE_INFINITY;
  if (name.length > 255 || tx.count(scimGroups, {}) >= limit) return null;
  const isTaken = externalId !== null && (externalId.length > 255 || tx.find(scimGroups, { externalId }, 1).length > 0);
  const input = { name, identityProviderId: row.id, ...(externalId === null || isTaken ? {} : { externalId }) };
  return tx.create(scimGroups, input, by).id;
}
