import type { Clock } from "../base/clock.ts";
import { BugError, ConflictError, invalidValue } from "../base/errors.ts";
import domains from "../resources/domains/domains.ts";
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
import type { Behaviour, By, Change, Reader, Transaction } from "../store/store.ts";
import { applicationBehaviour } from "./application-behaviour.ts";
import { presentEntries } from "./audit-presentation.ts";
import { keepBreakGlass } from "./break-glass.ts";
import { requireCover, requireSuper } from "./cover.ts";
import { domainBehaviour, familiesIn } from "./domain-behaviour.ts";
import { isSpec } from "./grants.ts";
import { canLogIn } from "./locks.ts";
import { domainsOf } from "./membership.ts";
import {
  domainsOfMembers,
  domainsOfScimMembers,
  domainsOfUser,
  type GivenGrant,
  rightsOfGroup,
  rightsOfUser,
} from "./rights.ts";
import { keepProvisioned } from "./scim/guard.ts";
import { presentScimTies } from "./scim-groups.ts";
import { endSessions } from "./session.ts";
import { presentUsers } from "./user-presentation.ts";

/** Names a behaviour by the resource it is bound to. */
export type Bound = readonly [resource: AnyResource, behaviour: Behaviour];

/**
 * The rules of who may be given what. own choice: nobody passes on more than the own rights, be it by a permission, a
 * membership, a tie to a directory's group, a token or a domain, nor locks somebody with greater rights; the organisation
 * never loses its last member of a super group, nor the last one who can log in.
 */
export function accessBehaviours(clock: Clock, catalogue: Catalogue): readonly Bound[] {
  return [
    bind(auditEntries, { present: presentEntries(catalogue) }),
    bind(domains, domainBehaviour(familiesIn(catalogue))),
    bind(users, {
      beforeWrite: (change, tx, by) => {
        checkUser(change, tx, by);
        keepProvisioned(change, clock.now());
      },
      afterWrite: (change, tx, by) => followUser(change, tx, by, clock.now()),
      present: presentUsers(clock),
    }),
    bind(userTokens, { beforeWrite: (change, tx, by) => checkToken(change, tx, by, clock.now()) }),
    bind(applications, applicationBehaviour(requireCover)),
    bind(securityGroups, {
      beforeWrite: checkGroup,
      afterWrite: (change, tx) => {
        keepAnAdministrator(change, tx);
        if (change.before?.superGroup) keepBreakGlass(tx, clock.now());
      },
    }),
    bind(securityGroupMembers, {
      beforeWrite: checkMember,
      afterWrite: (change, tx) => {
        keepAnAdministrator(change, tx);
        if (change.op === "delete") keepBreakGlass(tx, clock.now());
      },
    }),
    bind(securityGroupPermissions, { beforeWrite: ({ after }, tx, by) => checkGroupPermission(after, tx, by) }),
    bind(securityGroupScimGroups, { beforeWrite: checkTie, present: presentScimTies }),
    bind(scimGroupMembers, { beforeWrite: checkScimMember }),
    bind(scimTokens, { beforeWrite: checkScimToken }),
    bind(userPermissions, { beforeWrite: ({ after }, tx, by) => checkUserPermission(after, tx, by) }),
  ];
}

/** Forgets the row type, which the table of behaviours cannot keep. */
function bind<R extends AnyResource>(resource: R, behaviour: Behaviour<R>): Bound {
  return [resource, behaviour as unknown as Behaviour];
}

function checkUser({ before, after, given }: Change<typeof users>, tx: Reader, by: By): void {
  if (!after) return;
  // Else whoever may edit users could lock out everybody who may do more, or log in as them.
  const isGuarded =
    given.has("lock") ||
    given.has("breakGlass") ||
    before?.passwordHash !== after.passwordHash ||
    // Identity providers vouch for accounts by their addresses.
    before?.email !== after.email;
  if (before && isGuarded && before.id !== by.actor.userId) {
    requireCover(by, rightsOfUser(tx, before.pk), domainsOf(before));
  }
  const joined = before ? domainsOf(after).filter((id) => !domainsOf(before).includes(id)) : [];
  // What a user may do everywhere, it may do in a new domain too.
  if (before && joined.length > 0) requireCover(by, rightsOfUser(tx, before.pk), joined);
  if (after.email !== null && (after.type === "anonymous" || after.type === "application")) {
    throw invalidValue("email", `A user of type ${after.type} has none.`);
  }
  const { start = null, end = null } = after.lock ?? {};
  if (start !== null && end !== null && end <= start) throw invalidValue("lock", "It must end after its start.");
  // Its own password is good from now on, and no provider's word.
  if (after.breakGlass) after.providerKey = null;
}

function followUser(change: Change<typeof users>, tx: Transaction, by: By, now: number): void {
  const { before, after } = change;
  keepAnAdministrator(change, tx);
  if (before?.breakGlass) keepBreakGlass(tx, now);
  if (before && after && canLogIn(before, now) && !canLogIn(after, now)) keepOneWhoCanLogIn(after, tx, now);
  if (before && after && before.passwordHash !== after.passwordHash) endSessions(tx, after.id, by);
}

function checkToken({ op, after }: Change<typeof userTokens>, tx: Reader, by: By, now: number): void {
  if (op !== "create" || !after) return;
  if (after.tokenHash === null) throw new BugError("A token is made by createToken.");
  if (after.expires !== null && after.expires <= now) throw invalidValue("expires", "It must lie ahead.");
  const holder = tx.get(users, after.userId);
  if (!holder || holder.id === by.actor.userId) return;
  requireCover(by, rightsOfUser(tx, holder.pk), domainsOfUser(tx, holder.pk));
}

function checkGroup({ after, before }: Change<typeof securityGroups>, tx: Reader, by: By): void {
  if (after?.superGroup && !before?.superGroup) requireSuper(by);
  if (before?.superGroup && !after?.superGroup && tx.count(securityGroups, { superGroup: true }) <= 1) {
    throw new ConflictError("The last super group can't be deleted or made an ordinary group.", "superGroup");
  }
}

function checkMember({ op, after }: Change<typeof securityGroupMembers>, tx: Reader, by: By): void {
  if (op !== "create" || !after) return;
  const group = tx.get(securityGroups, after.securityGroupId);
  const user = tx.get(users, after.userId);
  if (group && user) requireCover(by, rightsOfGroup(tx, group.pk), domainsOfUser(tx, user.pk));
}

/** People of the directory's group belong to the security group, so a tie is as good as their memberships. */
function checkTie({ op, after }: Change<typeof securityGroupScimGroups>, tx: Reader, by: By): void {
  if (op !== "create" || !after) return;
  const group = tx.get(securityGroups, after.securityGroupId);
  if (group) requireCover(by, rightsOfGroup(tx, group.pk), domainsOfScimMembers(tx, after.scimGroupId));
}

function checkScimMember({ op, after }: Change<typeof scimGroupMembers>, tx: Reader, by: By): void {
  if (op !== "create" || !after) return;
  const user = tx.get(users, after.userId);
  for (const { securityGroupId } of tx.find(securityGroupScimGroups, { scimGroupId: after.scimGroupId })) {
    const group = tx.get(securityGroups, securityGroupId);
    if (group && user) requireCover(by, rightsOfGroup(tx, group.pk), domainsOfUser(tx, user.pk));
  }
}

/** own choice: who provisions decides who is in every group, so nobody hands that on who may not do everything. */
function checkScimToken({ op, after }: Change<typeof scimTokens>, _tx: Reader, by: By): void {
  if (op !== "create" || !after) return;
  if (after.tokenHash === null) throw new BugError("A directory's token is made by createScimToken.");
  requireSuper(by);
}

function checkGroupPermission(grant: (GivenGrant & { securityGroupId: string }) | null, tx: Reader, by: By): void {
  if (!grant) return;
  requireSpec(grant);
  const group = tx.get(securityGroups, grant.securityGroupId);
  if (group) requireCover(by, { superUser: false, grants: [grant] }, domainsOfMembers(tx, group.pk));
}

function checkUserPermission(grant: (GivenGrant & { userId: string }) | null, tx: Reader, by: By): void {
  if (!grant) return;
  requireSpec(grant);
  const user = tx.get(users, grant.userId);
  if (user) requireCover(by, { superUser: false, grants: [grant] }, domainsOfUser(tx, user.pk));
}

function requireSpec({ spec }: GivenGrant): void {
  if (!isSpec(spec)) throw invalidValue("spec", "It must be a path such as /users/* or /users/*/devices/*.");
}

/** Refuses the step that would leave nobody who may do everything; before the first administrator there is no such step. */
function keepAnAdministrator({ op, given }: Pick<Change, "op" | "given">, tx: Reader): void {
  if (op === "create" || (op === "update" && !given.has("superGroup"))) return;
  const member = tx.one(
    `SELECT m.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE g.super_group = 1 LIMIT 1`,
  );
  if (member === null) throw new ConflictError("The last member of the super groups can't be removed.");
}

/** Refuses to lock out the last administrator; `carillon user unlock` is the way back in should it happen all the same. */
function keepOneWhoCanLogIn({ pk }: RowOf<typeof users>, tx: Reader, now: number): void {
  const members = tx.all<{ pk: number }>(
    `SELECT DISTINCT m.user_pk AS pk FROM security_group_members m
     JOIN security_groups g ON g.pk = m.security_group_pk WHERE g.super_group = 1`,
  );
  if (!members.some((member) => member.pk === pk)) return;
  const administrators = tx.byPks(
    users,
    members.map((member) => member.pk),
  );
  if (administrators.some((user) => canLogIn(user, now))) return;
  throw new ConflictError("The last member of the super groups who can log in can't be locked out.");
}
