import type { Clock } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import users from "../../resources/people/users.ts";
import type { By, Reader, Store, Transaction } from "../../store/store.ts";
import { isLocked } from "../locks.ts";
import { endAllTokens } from "../session.ts";
import { type Document, readDocument, USERS } from "./document.ts";
import type { Source } from "./listing.ts";
import type { Candidate } from "./matches.ts";
import { patchDocument, readOperations } from "./patch.ts";
import { ScimRefusal } from "./refusal.ts";
import { documentOf, inputOf, keptOf, type User, userNameOf } from "./user-document.ts";
import { requireVersion, versionOf } from "./version.ts";

/** What writing users takes. */
export interface UserNeeds {
  store: Store;
  clock: Clock;
}

/**
 * Makes a user. own choice: an account that nobody has a password or rights of its own for, and whose address it is, is
 * taken over. Throws ScimRefusal `uniqueness` and what a document throws.
 */
export function createUser({ store, clock }: UserNeeds, body: unknown, by: By): Promise<User> {
  const document = { active: true, ...readDocument(USERS, body) };
  const kept = keptOf(document);
  const input = inputOf(document);
  return store.write((tx) => {
    requireFreeName(tx, userNameOf(document), null);
    const owner = ownerOf(tx, input.email);
    if (owner && !isOpen(tx, owner)) throw taken("emails");
    const lock = lockFor(owner, document, clock.now());
    if (!owner) return tx.create(users, { ...input, ...lock }, by, kept);
    if (document.active === false) endAllTokens(tx, owner.id, by);
    return tx.update(users, owner.id, { ...input, ...lock }, by, kept);
  });
}

/** Writes all that a directory says of a user anew. Throws not-found, ScimRefusal. */
export function replaceUser(
  needs: UserNeeds,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: By,
): Promise<User> {
  const given = readDocument(USERS, body);
  // What is not said stays as it is, as switching somebody on takes a word.
  return change(needs, id, ifMatch, by, ({ active }) => ({ ...(active === undefined ? {} : { active }), ...given }));
}

/** Changes a user by the operations of a PATCH, all or none. Throws not-found, ScimRefusal. */
export function patchUser(needs: UserNeeds, id: string, body: unknown, ifMatch: string | null, by: By): Promise<User> {
  const operations = readOperations(body);
  return change(needs, id, ifMatch, by, (document) => patchDocument(USERS, document, operations));
}

/** Deletes a user, whose sessions and tokens end with it. Throws not-found, ScimRefusal `precondition`. */
export async function deleteUser({ store }: UserNeeds, id: string, ifMatch: string | null, by: By): Promise<void> {
  requireVersion(ifMatch, versionOf(provisioned(store, id)));
  await store.remove(users, id, by, (row) => requireVersion(ifMatch, versionOf(row)));
}

/** The user of that id that a directory provisions. Throws not-found for others: they are not the directory's. */
export function provisioned(reader: Reader, id: string): User {
  const user = reader.get(users, id);
  if (user?.source !== "scim") throw notFound();
  return user;
}

/** Where provisioned users are found. */
export function userSource(reader: Reader): Source {
  return {
    type: USERS,
    count: () => reader.one<{ n: number }>("SELECT count(*) AS n FROM users WHERE scim_user_name IS NOT NULL")?.n ?? 0,
    keys: (skip, limit) =>
      reader
        .all<{ pk: number }>(
          "SELECT pk FROM users WHERE scim_user_name IS NOT NULL ORDER BY pk LIMIT ? OFFSET ?",
          limit,
          skip,
        )
        .map(({ pk }) => pk),
    after: (pk, limit) =>
      candidates(reader, "u.pk > ? AND u.scim_user_name IS NOT NULL ORDER BY u.pk LIMIT ?", pk, limit),
    having: ({ name, value }) => {
      if (name === "userName") return candidates(reader, "u.scim_user_name = ?", value.toLowerCase());
      if (name === "externalId") return candidates(reader, "u.scim_external_id = ?", value);
      if (name === "id") return candidates(reader, "u.id = ? AND u.scim_user_name IS NOT NULL", value.toLowerCase());
      return candidates(reader, "u.name = ? COLLATE NOCASE AND u.scim_user_name IS NOT NULL", value);
    },
    related: (groupId) =>
      new Set(
        reader
          .all<{ pk: number }>(
            "SELECT m.user_pk AS pk FROM scim_group_members m JOIN scim_groups g ON g.pk = m.scim_group_pk WHERE g.id = ?",
            groupId,
          )
          .map(({ pk }) => pk),
      ),
  };
}

interface Line extends Record<string, string | number> {
  pk: number;
  id: string;
  profile: string;
  created: number;
  updated: number;
}

function candidates(reader: Reader, where: string, ...params: (string | number)[]): Candidate[] {
  const lines = reader.all<Line>(
    `SELECT u.pk, u.id, u.scim_profile AS profile, u.created_at AS created, u.updated_at AS updated FROM users u WHERE ${where}`,
    ...params,
  );
  return lines.map(({ pk, id, profile, created, updated }) => ({
    pk,
    document: documentOf({ id, scimProfile: profile, createdAt: created, updatedAt: updated }),
  }));
}

function change(
  { store, clock }: UserNeeds,
  id: string,
  ifMatch: string | null,
  by: By,
  changed: (document: Document) => Document,
): Promise<User> {
  return store.write((tx) => {
    const user = provisioned(tx, id);
    requireVersion(ifMatch, versionOf(user));
    const document = changed(JSON.parse(user.scimProfile ?? "{}") as Document);
    requireFreeName(tx, userNameOf(document), user);
    const input = inputOf(document);
    const owner = ownerOf(tx, input.email);
    if (owner && owner.id !== user.id) throw taken("emails");
    if (document.active === false && user.scimActive === 1) endAllTokens(tx, user.id, by);
    const language = document.preferredLanguage === undefined ? { preferredLanguage: null } : {};
    const lock = lockFor(user, document, clock.now());
    return tx.update(users, user.id, { ...language, ...input, ...lock }, by, keptOf(document));
  });
}

/**
 * The lock that `active` asks for: shut out from now on, or let in again who was shut out by the directory. A lock that an
 * administrator set stays where the directory says nothing new.
 */
function lockFor(user: User | null, { active }: Document, now: number): { lock?: object | null } {
  if (active === false) {
    const holds = user !== null && isLocked(user.lock, now) && (user.lock?.end ?? null) === null;
    return holds ? {} : { lock: { start: new Date(now).toISOString(), end: null } };
  }
  return user?.scimActive === 0 ? { lock: null } : {};
}

function requireFreeName(reader: Reader, userName: string, user: User | null): void {
  const other = reader.one<{ id: string }>("SELECT id FROM users WHERE scim_user_name = ?", userName);
  if (other && other.id !== user?.id) throw taken("userName");
}

function ownerOf(reader: Reader, email: string | null): User | null {
  if (email === null) return null;
  const found = reader.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email);
  return found && reader.byPk(users, found.pk);
}

/** Whether a directory may take an account over: one that can't log in here and that nobody was given anything for. */
function isOpen(tx: Transaction, { pk, type, source, passwordHash }: User): boolean {
  if (type !== "regular" || passwordHash !== null || !(source === "manual" || source === "self-registered"))
    return false;
  const given = tx.one(
    `SELECT 1 FROM security_group_members WHERE user_pk = ? UNION ALL SELECT 1 FROM user_permissions WHERE user_pk = ?
     UNION ALL SELECT 1 FROM applications WHERE user_pk = ? LIMIT 1`,
    ...[pk, pk, pk],
  );
  return given === null;
}

function taken(attribute: string): ScimRefusal {
  return new ScimRefusal("uniqueness", `Another account has that value of ${attribute}.`);
}
