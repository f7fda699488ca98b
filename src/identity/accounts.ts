import { placeInGroups } from "../access/directory-membership.ts";
import { type ProviderRow, providerKey, providerOf } from "../access/identity-providers.ts";
import { isLocked } from "../access/locks.ts";
import users from "../resources/people/users.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import { compileChecker } from "../schema/check.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Reader, Transaction } from "../store/store.ts";
import { LogInFault } from "./log-in-fault.ts";
import type { NamedGroup, Vouched } from "./provider.ts";

type User = RowOf<typeof users>;

/** What a user's address must be; one that is none is left out. */
const ADDRESS = compileChecker({ email: users.fields.email });

/** Groups that one log-in may make. own choice */
export const MOST_MADE = 200;
/** Groups made, entered and left in one transaction: a few milliseconds. own choice */
const SLICE = 25;

/** On whose behalf and when. */
interface Writing {
  by: By;
  /** Epoch ms. */
  now: number;
  /** Groups that may still be made; counted down. */
  makes: number;
}

/** A user, and whether it is in all groups that the provider names; if not, the same call in a further transaction goes on. */
interface Followed {
  user: User;
  isWhole: boolean;
}

/**
 * The user whom a provider vouches for, in the groups that it names: known by what the provider calls it, else by the mail
 * address, else made where the provider may. Throws LogInFault: `no-account`, `locked`.
 *
 * own choice: an account with `breakGlass`, of another type than regular, or of another provider is taken over by none.
 */
export function accountOf(tx: Transaction, row: ProviderRow, told: Vouched, writing: Writing): Followed {
  const vouched = withAddress(told);
  const user = knownAs(tx, row, vouched) ?? takenOver(tx, row, vouched, writing) ?? made(tx, row, vouched, writing);
  if (isLocked(user.lock, writing.now)) throw new LogInFault("locked", "The account is locked.", user.id);
  return follow(tx, row, user, vouched, writing);
}

/** Brings what the provider tells of a user it vouches for in line: name, address, groups. */
export function follow(tx: Transaction, row: ProviderRow, user: User, vouched: Vouched, writing: Writing): Followed {
  const isWhole = vouched.groups === null || place(tx, row, user, vouched.groups, writing);
  const name = vouched.name?.slice(0, 140) ?? user.name;
  const { email: told } = withAddress(vouched);
  const email = told !== null && isFree(tx, told, user) ? told : user.email;
  // Who was here before belongs to whoever made the account.
  if (user.source !== "self-registered" || (name === user.name && email === user.email)) return { user, isWhole };
  return { user: tx.update(users, user.id, { name, email }, writing.by), isWhole };
}

function withAddress(vouched: Vouched): Vouched {
  const { faults } = ADDRESS.check({ email: vouched.email }, "update");
  return faults.length === 0 ? vouched : { ...vouched, email: null };
}

function knownAs(tx: Reader, row: ProviderRow, { subject }: Vouched): User | null {
  return tx.find(users, { providerKey: providerKey(row.id, subject) }, 1)[0] ?? null;
}

function takenOver(tx: Transaction, row: ProviderRow, { subject, email }: Vouched, { by }: Writing): User | null {
  const user = email === null ? null : byEmail(tx, email);
  if (!user) return null;
  if (user.breakGlass || user.type !== "regular" || providerOf(tx, user) !== null) {
    throw new LogInFault(
      "no-account",
      "The address is that of an account which the provider can't vouch for.",
      user.id,
    );
  }
  // A provider of another appliance keeps it in line; both would take it from each other for ever.
  if (user.providerKey !== null) return user;
  return tx.update(users, user.id, {}, by, { providerKey: providerKey(row.id, subject) });
}

function made(tx: Transaction, row: ProviderRow, { subject, email, name }: Vouched, { by }: Writing): User {
  if (!row.selfRegistrationEnabled) throw new LogInFault("no-account", "The provider vouches for somebody unknown.");
  const input = { name: (name ?? email ?? subject).slice(0, 140), ...(email === null ? {} : { email }) };
  const key = providerKey(row.id, subject);
  return tx.create(users, input, by, { providerKey: key, source: "self-registered", selfRegistered: true });
}

function byEmail(tx: Reader, email: string): User | null {
  const found = tx.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email);
  return found && tx.byPk(users, found.pk);
}

function isFree(tx: Reader, email: string, { pk }: User): boolean {
  const other = byEmail(tx, email);
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
function linesOf(reader: Reader, row: ProviderRow, user: User): GroupLine[] {
  return reader.all<GroupLine>(
    `SELECT g.id, g.name, g.external_id AS externalId, EXISTS (SELECT 1 FROM scim_group_members m
       WHERE m.scim_group_pk = g.pk AND m.user_pk = ?) AS isIn
     FROM scim_groups g WHERE g.identity_provider_id = ?`,
    user.pk,
    row.id,
  );
}

/** Whether a user is in groups of the provider, and would be in none were it in those alone that are named. */
export function losesAllGroups(
  reader: Reader,
  row: ProviderRow,
  userId: string,
  named: readonly NamedGroup[] | null,
): boolean {
  const user = reader.get(users, userId);
  if (!user || named === null || (row.createsGroups && named.length > 0)) return false;
  const lines = linesOf(reader, row, user);
  const known = groupsIn(lines);
  return lines.some(({ isIn }) => isIn === 1) && !named.some((group) => known(group));
}

/** Puts a user into those of the provider's groups that it names, and out of its others first; false where some are left. */
function place(
  tx: Transaction,
  row: ProviderRow,
  user: User,
  named: readonly NamedGroup[],
  writing: Pick<Writing, "by" | "makes">,
): boolean {
  const lines = linesOf(tx, row, user);
  const known = groupsIn(lines);
  const wanted = new Set(named.flatMap((group) => known(group)?.id ?? []));
  const changed = lines
    .filter(({ id, isIn }) => wanted.has(id) !== (isIn === 1))
    .sort((one, other) => other.isIn - one.isIn)
    .map(({ id }) => id);
  const among = changed.slice(0, SLICE);
  placeInGroups(tx, user.id, { wanted: among.filter((id) => wanted.has(id)), among }, writing.by);
  const unknown = new Map(named.filter((group) => !known(group)).map((group) => [keyOf(group), group]));
  const made = [...unknown.values()].slice(0, Math.min(SLICE - among.length, writing.makes));
  writing.makes -= made.length;
  for (const group of made) {
    const id = makeGroup(tx, row, group, writing.by);
    if (id !== null) placeInGroups(tx, user.id, { wanted: [id], among: [id] }, writing.by);
  }
  return among.length === changed.length && (made.length === unknown.size || writing.makes <= 0);
}

function keyOf({ name, externalId }: NamedGroup): string {
  return (externalId ?? name).toLowerCase();
}

/** Finds what a provider names: by its id where both sides know one, else by the name, which may be the id, too. */
function groupsIn(lines: readonly GroupLine[]): (group: NamedGroup) => GroupLine | undefined {
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
function makeGroup(tx: Transaction, row: ProviderRow, { name, externalId }: NamedGroup, by: By): string | null {
  const limit = scimGroups.limit?.most ?? Number.POSITIVE_INFINITY;
  if (name.length > 255 || tx.count(scimGroups, {}) >= limit) return null;
  const isTaken = externalId !== null && (externalId.length > 255 || tx.find(scimGroups, { externalId }, 1).length > 0);
  const input = { name, identityProviderId: row.id, ...(externalId === null || isTaken ? {} : { externalId }) };
  return tx.create(scimGroups, input, by).id;
}
