import { canLogIn } from "../auth/account-lock.ts";
import { assertBreakGlassAccount } from "../auth/break-glass.ts";
import { checkProvisionedUser } from "../auth/provisioned-user-guard.ts";
import { revokeUserSessions } from "../auth/sessions.ts";
import { isNetwork } from "../lib/address-set.ts";
import type { Clock } from "../lib/clock.ts";
import { BugError, ConflictError, invalidValue, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import domains from "../resources/domains/domains.ts";
import secondFactors from "../resources/people/second-factors.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import applications from "../resources/security/applications.ts";
import auditEntries from "../resources/security/audit-entries.ts";
import scimGroupMembers from "../resources/security/scim-group-members.ts";
import scimTokens from "../resources/security/scim-tokens.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroupPermissions from "../resources/security/security-group-permissions.ts";
import securityGroupScimGroups from "../resources/security/security-group-scim-groups.ts";
import securityGroups from "../resources/security/security-groups.ts";
import userPermissions from "../resources/security/user-permissions.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, RowMutation, StoreReader, Transaction } from "../store/store.ts";
import { applicationHooks } from "./application-hooks.ts";
import { createAuditEntryPresenter } from "./audit-entry-presenter.ts";
import { domainHooks, domainScopedResources } from "./domain-hooks.ts";
import { domainIdsOf } from "./domain-membership.ts";
import { isPathPattern } from "./grants.ts";
import { assertCanDelegate, assertSuperUser } from "./privilege-escalation.ts";
import {
  type DomainGrant,
  readGroupMemberDomainIds,
  readGroupRights,
  readScimGroupMemberDomainIds,
  readUserDomainIds,
  readUserRights,
} from "./rights.ts";
import { presentScimGroupLinks } from "./scim-group-hooks.ts";
import {
  auditBreakGlassChange,
  auditGroupChange,
  auditMemberChange,
  auditScimLinkChange,
  auditSecondFactorReset,
} from "./trust-changes.ts";
import { createUserPresenter } from "./user-presenter.ts";

/** Hooks with the resource that they are bound to. */
export type BoundHooks = readonly [resource: AnyResource, hooks: ResourceHooks];

/**
 * Hooks that prevent privilege escalation and lock-out. No one can delegate more than their own rights, by a
 * permission, a membership, a link to a directory group, a token or a domain, nor lock a user with more rights. The
 * organisation never loses its last member of a super group, nor the last one who can log in.
 * @source docs/decisions/0401-permission-rules.md
 */
export function accessHooks(clock: Clock, catalogue: Catalogue): readonly BoundHooks[] {
  return [
    bind(auditEntries, { present: createAuditEntryPresenter(catalogue) }),
    bind(domains, domainHooks(domainScopedResources(catalogue))),
    bind(users, {
      beforeWrite: (change, tx, by) => {
        checkUser(change, tx, by);
        checkProvisionedUser(change, clock.now());
      },
      afterWrite: (change, tx, by) => applyUserChange(change, tx, by, clock.now()),
      present: createUserPresenter(clock),
    }),
    bind(userTokens, { beforeWrite: (change, tx, by) => checkToken(change, tx, by, clock.now()) }),
    bind(secondFactors, {
      beforeWrite: checkSecondFactor,
      afterWrite: auditSecondFactorReset,
    }),
    bind(applications, applicationHooks(assertCanDelegate)),
    bind(securityGroups, {
      beforeWrite: checkGroup,
      afterWrite: (change, tx, by) => {
        auditGroupChange(change, tx, by);
        assertAdministratorLeft(change, tx);
        if (change.before?.superGroup) assertBreakGlassAccount(tx, clock.now());
      },
    }),
    bind(securityGroupMembers, {
      beforeWrite: checkMember,
      afterWrite: (change, tx, by) => {
        auditMemberChange(change, tx, by);
        assertAdministratorLeft(change, tx);
        if (change.op === "delete") assertBreakGlassAccount(tx, clock.now());
      },
    }),
    bind(securityGroupPermissions, { beforeWrite: ({ after }, tx, by) => checkGroupPermission(after, tx, by) }),
    bind(securityGroupScimGroups, {
      beforeWrite: checkScimGroupLink,
      afterWrite: auditScimLinkChange,
      present: presentScimGroupLinks,
    }),
    bind(scimGroupMembers, { beforeWrite: checkScimMember }),
    bind(scimTokens, { beforeWrite: checkScimToken }),
    bind(userPermissions, { beforeWrite: ({ after }, tx, by) => checkUserPermission(after, tx, by) }),
  ];
}

/** Erases the row type, which the table of hooks cannot express. */
function bind<R extends AnyResource>(resource: R, hooks: ResourceHooks<R>): BoundHooks {
  return [resource, hooks as unknown as ResourceHooks];
}

function checkUser({ before, after, given }: RowMutation<typeof users>, tx: StoreReader, by: ActorContext): void {
  if (!after) return;
  // Otherwise anyone who may edit users could lock out users with more rights, or log in as them.
  const isGuarded =
    given.has("lock") ||
    given.has("breakGlass") ||
    before?.passwordHash !== after.passwordHash ||
    // Identity providers find accounts by their e-mail address.
    before?.email !== after.email;
  if (before && isGuarded && before.id !== by.actor.userId) {
    assertCanDelegate(by, readUserRights(tx, before.pk), domainIdsOf(before));
  }
  const joined = before ? domainIdsOf(after).filter((id) => !domainIdsOf(before).includes(id)) : [];
  // Unlimited grants of the user then hold in the new domain too.
  if (before && joined.length > 0) assertCanDelegate(by, readUserRights(tx, before.pk), joined);
  if (after.email !== null && (after.type === "anonymous" || after.type === "application")) {
    throw invalidValue("email", sentence("field.must-be-empty-for-a-user-of-type-type", { type: after.type }));
  }
  if (lacksEmail(before, after, by)) {
    const message = sentence("field.field-email-is-required-for-a-user-of-type-regular");
    throw validationError([{ field: "email", type: "required", message }]);
  }
  const { start = null, end = null } = after.lock ?? {};
  if (start !== null && end !== null && end <= start)
    throw invalidValue("lock", sentence("field.the-end-must-be-after-the-start"));
  // A break-glass account logs in with its local password only.
  if (after.breakGlass) after.providerKey = null;
  if (after.breakGlass && !before?.breakGlass) assertMayBreakGlass(before, tx, by);
}

/**
 * Regular users log in with their email address. Directories, rosters and other appliances may not know one, and users
 * stored without one stay valid, so that the rule concerns callers only.
 * @source docs/decisions/0507-users-without-an-email-address.md
 */
function lacksEmail(before: RowOf<typeof users> | null, after: RowOf<typeof users>, by: ActorContext): boolean {
  if (after.type !== "regular" || after.email !== null || by.replicated || by.actor.userId === null) return false;
  return before?.type !== "regular" || before.email !== null;
}

/** Such an account stays open when all others are closed, so only super users make one, of super users. */
function assertMayBreakGlass(before: RowOf<typeof users> | null, tx: StoreReader, by: ActorContext): void {
  assertSuperUser(by);
  if (by.replicated || (before && readUserRights(tx, before.pk).superUser)) return;
  throw invalidValue("breakGlass", sentence("field.only-a-member-of-a-super-group-can-be-a-break-glass-account"));
}

function applyUserChange(change: RowMutation<typeof users>, tx: Transaction, by: ActorContext, now: number): void {
  const { before, after } = change;
  auditBreakGlassChange(change, tx, by);
  assertAdministratorLeft(change, tx);
  if (before?.breakGlass) assertBreakGlassAccount(tx, now);
  if (before && after && canLogIn(before, now) && !canLogIn(after, now)) assertAdministratorCanLogIn(after, tx, now);
  if (before && after && before.passwordHash !== after.passwordHash) revokeUserSessions(tx, after.id, by);
}

function checkToken(
  { op, after }: RowMutation<typeof userTokens>,
  tx: StoreReader,
  by: ActorContext,
  now: number,
): void {
  if (op !== "create" || !after) return;
  if (after.tokenHash === null) throw new BugError("tokens must be created with createToken");
  if (after.expires !== null && after.expires <= now)
    throw invalidValue("expires", sentence("field.must-be-in-the-future"));
  if (!after.addresses.every(isNetwork)) {
    throw invalidValue("addresses", sentence("field.must-be-addresses-or-networks-such-as-192-0-2-7-192-0-2"));
  }
  const holder = tx.get(users, after.userId);
  if (!holder || holder.id === by.actor.userId) return;
  assertCanDelegate(by, readUserRights(tx, holder.pk), readUserDomainIds(tx, holder.pk));
}

/** Without a second factor the password is enough, so removing one is as much as setting a password. */
function checkSecondFactor(
  { op, before, after }: RowMutation<typeof secondFactors>,
  tx: StoreReader,
  by: ActorContext,
): void {
  const row = after ?? before;
  const owner = row && tx.get(users, row.userId);
  if (!owner || owner.id === by.actor.userId || op === "update") return;
  assertCanDelegate(by, readUserRights(tx, owner.pk), domainIdsOf(owner));
}

function checkGroup({ after, before }: RowMutation<typeof securityGroups>, tx: StoreReader, by: ActorContext): void {
  if (after?.superGroup && !before?.superGroup) assertSuperUser(by);
  if (before?.superGroup && !after?.superGroup && tx.count(securityGroups, { superGroup: true }) <= 1) {
    throw new ConflictError(sentence("conflict.the-last-super-group-must-not-be-deleted-or-made"), "superGroup");
  }
}

function checkMember({ op, after }: RowMutation<typeof securityGroupMembers>, tx: StoreReader, by: ActorContext): void {
  if (op !== "create" || !after) return;
  const group = tx.get(securityGroups, after.securityGroupId);
  const user = tx.get(users, after.userId);
  if (group && user) assertCanDelegate(by, readGroupRights(tx, group.pk), readUserDomainIds(tx, user.pk));
}

/** Members of the directory group become members of the security group, so a link delegates like their memberships. */
function checkScimGroupLink(
  { op, after }: RowMutation<typeof securityGroupScimGroups>,
  tx: StoreReader,
  by: ActorContext,
): void {
  if (op !== "create" || !after) return;
  const group = tx.get(securityGroups, after.securityGroupId);
  if (group) assertCanDelegate(by, readGroupRights(tx, group.pk), readScimGroupMemberDomainIds(tx, after.scimGroupId));
}

function checkScimMember({ op, after }: RowMutation<typeof scimGroupMembers>, tx: StoreReader, by: ActorContext): void {
  if (op !== "create" || !after) return;
  const user = tx.get(users, after.userId);
  for (const { securityGroupId } of tx.find(securityGroupScimGroups, { scimGroupId: after.scimGroupId })) {
    const group = tx.get(securityGroups, securityGroupId);
    if (group && user) assertCanDelegate(by, readGroupRights(tx, group.pk), readUserDomainIds(tx, user.pk));
  }
}

/** A provisioning directory decides about the members of every group, so only super users may create its tokens. */
function checkScimToken({ op, after }: RowMutation<typeof scimTokens>, _tx: StoreReader, by: ActorContext): void {
  if (op !== "create" || !after) return;
  if (after.tokenHash === null) throw new BugError("SCIM tokens must be created with createScimToken");
  assertSuperUser(by);
}

function checkGroupPermission(
  grant: (DomainGrant & { securityGroupId: string }) | null,
  tx: StoreReader,
  by: ActorContext,
): void {
  if (!grant) return;
  assertPathPattern(grant);
  const group = tx.get(securityGroups, grant.securityGroupId);
  if (group) assertCanDelegate(by, { superUser: false, grants: [grant] }, readGroupMemberDomainIds(tx, group.pk));
}

function checkUserPermission(
  grant: (DomainGrant & { userId: string }) | null,
  tx: StoreReader,
  by: ActorContext,
): void {
  if (!grant) return;
  assertPathPattern(grant);
  const user = tx.get(users, grant.userId);
  if (user) assertCanDelegate(by, { superUser: false, grants: [grant] }, readUserDomainIds(tx, user.pk));
}

function assertPathPattern({ spec }: DomainGrant): void {
  if (!isPathPattern(spec)) throw invalidValue("spec", sentence("field.must-be-a-path-such-as-users-or-users-devices"));
}

/** Throws ConflictError when no member of a super group would be left. */
function assertAdministratorLeft({ op, given }: Pick<RowMutation, "op" | "given">, tx: StoreReader): void {
  if (op === "create" || (op === "update" && !given.has("superGroup"))) return;
  const member = tx.one(
    `SELECT m.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE g.super_group = 1 LIMIT 1`,
  );
  if (member === null) throw new ConflictError(sentence("conflict.the-last-member-of-the-super-groups-must-not-be"));
}

/** Throws ConflictError when the last administrator would be locked out. `carillon user unlock` is the way back in. */
function assertAdministratorCanLogIn({ pk }: RowOf<typeof users>, tx: StoreReader, now: number): void {
  const members = tx.all<{ pk: number }>(
    `SELECT DISTINCT m.user_pk AS pk FROM security_group_members m
     JOIN security_groups g ON g.pk = m.security_group_pk WHERE g.super_group = 1`,
  );
  if (!members.some((member) => member.pk === pk)) return;
  const administrators = tx.getByPks(
    users,
    members.map((member) => member.pk),
  );
  if (administrators.some((user) => canLogIn(user, now))) return;
  throw new ConflictError(sentence("conflict.the-last-member-of-the-super-groups-who-can-log"));
}
