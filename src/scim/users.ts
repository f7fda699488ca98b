import { isAccountLocked } from "../auth/account-lock.ts";
import { findUserByEmail } from "../auth/identity-providers.ts";
import { revokeAllTokens } from "../auth/sessions.ts";
import { removeUnprovenContacts } from "../auth/unproven-contacts.ts";
import type { Clock } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import users from "../resources/people/users.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { parseDocument, type ScimDocument, USER_RESOURCE_TYPE } from "./document.ts";
import { assertEtagMatches, buildEtag } from "./etag.ts";
import type { ScimCandidate } from "./filter-evaluator.ts";
import { applyPatch, parsePatchOperations } from "./patch.ts";
import type { ScimResourceSource } from "./resource-list.ts";
import { ScimRequestError } from "./scim-error.ts";
import {
  buildUserDocument,
  parseUserInput,
  provisioningFields,
  readUserName,
  type ScimUserRow,
} from "./user-document.ts";

/** Dependencies of user operations. */
export interface ScimUserDeps {
  store: Store;
  clock: Clock;
}

/**
 * Creates a user, or takes over an existing account with the same e-mail address that has neither a password nor own
 * rights. Throws ScimRequestError `uniqueness` and what parsing the document throws.
 */
export function createScimUser({ store, clock }: ScimUserDeps, body: unknown, by: ActorContext): Promise<ScimUserRow> {
  const document = { active: true, ...parseDocument(USER_RESOURCE_TYPE, body) };
  const fields = provisioningFields(document);
  const input = parseUserInput(document);
  return store.write((tx) => {
    assertUserNameFree(tx, readUserName(document), null);
    const owner = findByEmail(tx, input.email);
    if (owner && !canBeTakenOver(tx, owner)) throw valueInUse("emails");
    const lock = lockFor(owner, document, clock.now());
    if (!owner) return tx.create(users, { ...input, ...lock }, by, fields);
    if (document.active === false) revokeAllTokens(tx, owner.id, by);
    removeUnprovenContacts(tx, owner, by);
    return tx.update(users, owner.id, { ...input, ...lock }, by, fields);
  });
}

/** Replaces the document of a user. Throws not-found, ScimRequestError. */
export function replaceScimUser(
  deps: ScimUserDeps,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: ActorContext,
): Promise<ScimUserRow> {
  const given = parseDocument(USER_RESOURCE_TYPE, body);
  // `active` stays unchanged if omitted: unlocking a user must be explicit.
  return changeUser(deps, id, ifMatch, by, ({ active }) => ({
    ...(active === undefined ? {} : { active }),
    ...given,
  }));
}

/** Applies a PATCH to a user, all operations or none. Throws not-found, ScimRequestError. */
export function patchScimUser(
  deps: ScimUserDeps,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: ActorContext,
): Promise<ScimUserRow> {
  const operations = parsePatchOperations(body);
  return changeUser(deps, id, ifMatch, by, (document) => applyPatch(USER_RESOURCE_TYPE, document, operations));
}

/** Deletes a user with all sessions and tokens. Throws not-found, ScimRequestError `precondition`. */
export async function deleteScimUser(
  { store }: ScimUserDeps,
  id: string,
  ifMatch: string | null,
  by: ActorContext,
): Promise<void> {
  assertEtagMatches(ifMatch, buildEtag(getProvisionedUser(store, id)));
  await store.remove(users, id, by, (row) => assertEtagMatches(ifMatch, buildEtag(row)));
}

/** Gets a provisioned user. Throws not-found for other users, which a directory must not access. */
export function getProvisionedUser(reader: StoreReader, id: string): ScimUserRow {
  const user = reader.get(users, id);
  if (user?.source !== "scim") throw notFound();
  return user;
}

/** Resource source for provisioned users. */
export function createUserSource(reader: StoreReader): ScimResourceSource {
  return {
    type: USER_RESOURCE_TYPE,
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
      findCandidates(reader, "u.pk > ? AND u.scim_user_name IS NOT NULL ORDER BY u.pk LIMIT ?", pk, limit),
    findByKey: ({ name, value }) => {
      if (name === "userName") return findCandidates(reader, "u.scim_user_name = ?", value.toLowerCase());
      if (name === "externalId") return findCandidates(reader, "u.scim_external_id = ?", value);
      if (name === "id")
        return findCandidates(reader, "u.id = ? AND u.scim_user_name IS NOT NULL", value.toLowerCase());
      return findCandidates(reader, "u.name = ? COLLATE NOCASE AND u.scim_user_name IS NOT NULL", value);
    },
    relatedTo: (groupId) =>
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

interface UserLine extends Record<string, string | number> {
  pk: number;
  id: string;
  profile: string;
  created: number;
  updated: number;
}

function findCandidates(reader: StoreReader, where: string, ...params: (string | number)[]): ScimCandidate[] {
  const lines = reader.all<UserLine>(
    `SELECT u.pk, u.id, u.scim_profile AS profile, u.created_at AS created, u.updated_at AS updated FROM users u WHERE ${where}`,
    ...params,
  );
  return lines.map(({ pk, id, profile, created, updated }) => ({
    pk,
    document: buildUserDocument({ id, scimProfile: profile, createdAt: created, updatedAt: updated }),
  }));
}

function changeUser(
  { store, clock }: ScimUserDeps,
  id: string,
  ifMatch: string | null,
  by: ActorContext,
  changed: (document: ScimDocument) => ScimDocument,
): Promise<ScimUserRow> {
  return store.write((tx) => {
    const user = getProvisionedUser(tx, id);
    assertEtagMatches(ifMatch, buildEtag(user));
    const document = changed(JSON.parse(user.scimProfile ?? "{}") as ScimDocument);
    assertUserNameFree(tx, readUserName(document), user);
    const input = parseUserInput(document);
    const owner = findByEmail(tx, input.email);
    if (owner && owner.id !== user.id) throw valueInUse("emails");
    if (document.active === false && user.scimActive === 1) revokeAllTokens(tx, user.id, by);
    const language = document.preferredLanguage === undefined ? { preferredLanguage: null } : {};
    const lock = lockFor(user, document, clock.now());
    return tx.update(users, user.id, { ...language, ...input, ...lock }, by, provisioningFields(document));
  });
}

/**
 * The lock change that follows from `active`: false locks from now on; true unlocks a user whom the directory had
 * locked. A lock set by an administrator stays if `active` does not change.
 */
function lockFor(user: ScimUserRow | null, { active }: ScimDocument, now: number): { lock?: object | null } {
  if (active === false) {
    const holds = user !== null && isAccountLocked(user.lock, now) && (user.lock?.end ?? null) === null;
    return holds ? {} : { lock: { start: new Date(now).toISOString(), end: null } };
  }
  return user?.scimActive === 0 ? { lock: null } : {};
}

function assertUserNameFree(reader: StoreReader, userName: string, user: ScimUserRow | null): void {
  const other = reader.one<{ id: string }>("SELECT id FROM users WHERE scim_user_name = ?", userName);
  if (other && other.id !== user?.id) throw valueInUse("userName");
}

function findByEmail(reader: StoreReader, email: string | null): ScimUserRow | null {
  return email === null ? null : findUserByEmail(reader, email);
}

/** True when a directory may take over an account: it has no password and no rights, and no loader manages it. */
function canBeTakenOver(tx: Transaction, { pk, type, source, passwordHash }: ScimUserRow): boolean {
  if (type !== "regular" || passwordHash !== null || !(source === "manual" || source === "self-registered"))
    return false;
  const given = tx.one(
    `SELECT 1 FROM security_group_members WHERE user_pk = ? UNION ALL SELECT 1 FROM user_permissions WHERE user_pk = ?
     UNION ALL SELECT 1 FROM applications WHERE user_pk = ? LIMIT 1`,
    ...[pk, pk, pk],
  );
  return given === null;
}

function valueInUse(attribute: string): ScimRequestError {
  return new ScimRequestError("uniqueness", `An account with this value of ${attribute} already exists.`);
}
