import { isAccountLocked } from "../auth/account-lock.ts";
import {
  buildProviderKey,
  findUserByEmail,
  findUserProvider,
  type IdentityProviderRow,
} from "../auth/identity-providers.ts";
import { removeUnprovenContacts } from "../auth/unproven-contacts.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { syncUserGroups } from "../permissions/directory-group-members.ts";
import users from "../resources/people/users.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { LoginError } from "./login-error.ts";
import type { ExternalIdentity, ProviderGroup } from "./provider.ts";

type User = RowOf<typeof users>;

/** Validates e-mail addresses of providers; invalid ones are ignored. */
const EMAIL_CHECKER = compileValidator({ email: users.fields.email });

/** Maximum number of groups that one login may create. */
export const MAX_GROUPS_PER_LOGIN = 200;
/** Groups created, joined and left in one transaction: a few milliseconds. */
const CHUNK_SIZE = 25;

/** Actor and time of the provisioning. */
interface ProvisioningContext {
  by: ActorContext;
  /** Epoch ms. */
  now: number;
  /** Number of groups that may still be created. */
  remainingGroups: number;
}

/** The user; `isComplete` is false while group changes remain, which the same call continues in another transaction. */
interface ProvisionedAccount {
  user: User;
  isComplete: boolean;
}

/**
 * Just-in-time provisioning: finds the user by the provider's subject, else by e-mail address, else creates it if the
 * provider allows self-registration, and syncs its groups. An account with `breakGlass`, of a type other than regular,
 * or of another provider is never linked by its address. Throws LoginError: `no-account`, `locked`.
 * @source docs/decisions/0402-identity-providers.md, Accounts
 */
export function provisionAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  given: ExternalIdentity,
  context: ProvisioningContext,
): ProvisionedAccount {
  const identity = withValidEmail(given);
  const user =
    findBySubject(tx, row, identity) ??
    linkByEmail(tx, row, identity, context) ??
    createAccount(tx, row, identity, context);
  if (isAccountLocked(user.lock, context.now))
    throw new LoginError("locked", sentence("login.the-account-is-locked"), user.id);
  return syncAccount(tx, row, user, identity, context);
}

/** Updates name, address and groups of a user from the provider. */
export function syncAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  user: User,
  identity: ExternalIdentity,
  context: ProvisioningContext,
): ProvisionedAccount {
  const isComplete = identity.groups === null || syncGroups(tx, row, user, identity.groups, context);
  const name = identity.name?.slice(0, 140) ?? user.name;
  const { email: givenEmail } = withValidEmail(identity);
  const email = givenEmail !== null && isEmailFree(tx, givenEmail, user) ? givenEmail : user.email;
  // Name and address of accounts created elsewhere belong to their creator.
  if (user.source !== "self-registered" || (name === user.name && email === user.email)) return { user, isComplete };
  return { user: tx.update(users, user.id, { name, email }, context.by), isComplete };
}

function withValidEmail(identity: ExternalIdentity): ExternalIdentity {
  const { faults: errors } = EMAIL_CHECKER.validate({ email: identity.email }, "update");
  return errors.length === 0 ? identity : { ...identity, email: null };
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
  const user = email === null ? null : findUserByEmail(tx, email);
  if (!user) return null;
  if (user.breakGlass || user.type !== "regular" || findUserProvider(tx, user) !== null) {
    throw new LoginError("no-account", sentence("login.the-e-mail-address-belongs-to-an-account-that-must"), user.id);
  }
  // The account belongs to a provider of another appliance; both would overwrite each other forever.
  if (user.providerKey !== null) return user;
  removeUnprovenContacts(tx, user, by);
  return tx.update(users, user.id, {}, by, { providerKey: buildProviderKey(row.id, subject) });
}

function createAccount(
  tx: Transaction,
  row: IdentityProviderRow,
  { subject, email, name }: ExternalIdentity,
  { by }: ProvisioningContext,
): User {
  if (!row.selfRegistrationEnabled)
    throw new LoginError("no-account", sentence("login.the-user-does-not-exist-and-this-provider-is-not"));
  const input = { name: (name ?? email ?? subject).slice(0, 140), ...(email === null ? {} : { email }) };
  const key = buildProviderKey(row.id, subject);
  return tx.create(users, input, by, { providerKey: key, source: "self-registered", selfRegistered: true });
}

function isEmailFree(tx: StoreReader, email: string, { pk }: User): boolean {
  const other = findUserByEmail(tx, email);
  return other === null || other.pk === pk;
}

interface GroupLine extends Record<string, string | number | null> {
  id: string;
  name: string;
  externalId: string | null;
  /** 1 if the user is a member. */
  isIn: number;
  /** 1 if a security group is linked to it. */
  hasRights: number;
}

/** True when the user is in a group of the provider. */
export function hasProviderGroup(reader: StoreReader, { id }: IdentityProviderRow, userId: string): boolean {
  const sql = `SELECT 1 AS n FROM scim_group_members m JOIN scim_groups g ON g.pk = m.scim_group_pk
    WHERE g.identity_provider_id = ? AND m.user_pk = (SELECT pk FROM users WHERE id = ?) LIMIT 1`;
  return reader.one(sql, id, userId) !== null;
}

/** The provider's groups, and whether the user is a member. */
function readProviderGroups(reader: StoreReader, row: IdentityProviderRow, user: User): GroupLine[] {
  return reader.all<GroupLine>(
    `SELECT g.id, g.name, g.external_id AS externalId, EXISTS (SELECT 1 FROM scim_group_members m
       WHERE m.scim_group_pk = g.pk AND m.user_pk = ?) AS isIn,
       EXISTS (SELECT 1 FROM security_group_scim_groups l WHERE l.scim_group_pk = g.pk) AS hasRights
     FROM scim_groups g WHERE g.identity_provider_id = ?`,
    user.pk,
    row.id,
  );
}

/**
 * True when a sync with the named groups would take all groups of the provider from the user. Where it creates groups
 * those with rights count: a new group gives none.
 */
export function wouldLoseAllGroups(
  reader: StoreReader,
  row: IdentityProviderRow,
  userId: string,
  named: readonly ProviderGroup[] | null,
): boolean {
  const user = reader.get(users, userId);
  if (!user || named === null) return false;
  const lines = readProviderGroups(reader, row, user);
  const known = createGroupMatcher(lines);
  const counts = (line: GroupLine | undefined): boolean =>
    line !== undefined && (line.hasRights === 1 || !row.createsGroups || named.length === 0);
  return lines.some((line) => line.isIn === 1 && counts(line)) && !named.some((group) => counts(known(group)));
}

/** Syncs the memberships in the provider's groups, removals first; false if changes remain. */
function syncGroups(
  tx: Transaction,
  row: IdentityProviderRow,
  user: User,
  named: readonly ProviderGroup[],
  context: Pick<ProvisioningContext, "by" | "remainingGroups">,
): boolean {
  const lines = readProviderGroups(tx, row, user);
  const known = createGroupMatcher(lines);
  const wanted = new Set(named.flatMap((group) => known(group)?.id ?? []));
  const renamed = named.flatMap((group) => changeOfGroup(tx, known(group), group) ?? []);
  for (const { id, change } of renamed.slice(0, CHUNK_SIZE)) tx.update(scimGroups, id, change, context.by);
  if (renamed.length > CHUNK_SIZE) return false;
  const changed = lines
    .filter(({ id, isIn }) => wanted.has(id) !== (isIn === 1))
    .sort((one, other) => other.isIn - one.isIn)
    .map(({ id }) => id);
  const among = changed.slice(0, CHUNK_SIZE);
  syncUserGroups(tx, user.id, { wanted: among.filter((id) => wanted.has(id)), among }, context.by);
  const unknown = new Map(named.filter((group) => !known(group)).map((group) => [groupKey(group), group]));
  const toCreate = [...unknown.values()].slice(0, Math.min(CHUNK_SIZE - among.length, context.remainingGroups));
  context.remainingGroups -= toCreate.length;
  for (const group of toCreate) {
    const id = createProviderGroup(tx, row, group, context.by);
    if (id !== null) syncUserGroups(tx, user.id, { wanted: [id], among: [id] }, context.by);
  }
  return among.length === changed.length && (toCreate.length === unknown.size || context.remainingGroups <= 0);
}

/** A group that was renamed or moved is still the same one; its rights are those of its row. Null if nothing changed. */
function changeOfGroup(tx: StoreReader, line: GroupLine | undefined, { name, externalId }: ProviderGroup) {
  if (!line || externalId === null || externalId.length > 255 || name.length > 255) return null;
  const isOther = line.externalId !== externalId && tx.find(scimGroups, { externalId }, 1).length === 0;
  if (!isOther && line.name === name) return null;
  return { id: line.id, change: { name, ...(isOther ? { externalId } : {}) } };
}

function groupKey({ name, externalId }: ProviderGroup): string {
  return (externalId ?? name).toLowerCase();
}

/**
 * Matches groups by external id if both sides have one, then by the id that earlier versions stored, else by name; a name
 * may also be an external id.
 */
function createGroupMatcher(lines: readonly GroupLine[]): (group: ProviderGroup) => GroupLine | undefined {
  // The oldest of several matching groups wins.
  const newestFirst = lines.toReversed();
  const ids = new Map(newestFirst.flatMap((line) => (line.externalId ? [[line.externalId.toLowerCase(), line]] : [])));
  const names = new Map(newestFirst.map((line) => [line.name.toLowerCase(), line]));
  const bare = new Map(
    newestFirst.flatMap((line) => (line.externalId === null ? [[line.name.toLowerCase(), line]] : [])),
  );
  return ({ name, externalId, formerId }) =>
    externalId === null
      ? (names.get(name.toLowerCase()) ?? ids.get(name.toLowerCase()))
      : (ids.get(externalId.toLowerCase()) ?? ids.get(formerId?.toLowerCase() ?? "") ?? bare.get(name.toLowerCase()));
}

/** Creates a group and returns its id; null when the limit is reached or the name is too long. */
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
