import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type secondFactors from "../resources/people/second-factors.ts";
import users from "../resources/people/users.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroupScimGroups from "../resources/security/security-group-scim-groups.ts";
import securityGroups from "../resources/security/security-groups.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { ActorContext, RowMutation, StoreReader, Transaction } from "../store/store.ts";
import { readUserRights } from "./rights.ts";

/**
 * Audits changes of the highest rights beside the changed row: super groups, their members and links, and break-glass
 * accounts, and of second factors of super users. They raise the alarm `security_change`. @source docs/decisions/0401-permission-rules.md, Trust
 */
export function auditGroupChange(change: RowMutation<typeof securityGroups>, tx: Transaction, by: ActorContext): void {
  const [was, is] = [change.before?.superGroup ?? false, change.after?.superGroup ?? false];
  const row = change.after ?? change.before;
  if (was === is || !row) return;
  // Set-up makes the first one.
  if (is && tx.count(securityGroups, { superGroup: true }) === 1) return;
  const code = is ? "trust.super-group" : change.after ? "trust.super-group-ended" : "trust.super-group-deleted";
  audit(securityGroups, row.id, sentence(code, { name: row.name }), tx, by);
}

export function auditMemberChange(
  { op, before, after }: RowMutation<typeof securityGroupMembers>,
  tx: Transaction,
  by: ActorContext,
): void {
  const row = after ?? before;
  const group = row && superGroupOf(row.securityGroupId, tx);
  if (!group || op === "update" || (op === "create" && isOnlyMember(tx))) return;
  const name = tx.get(users, row.userId)?.name ?? row.userId;
  const code = op === "create" ? "trust.member" : "trust.member-ended";
  audit(securityGroupMembers, row.id, sentence(code, { name, group: group.name }), tx, by);
}

export function auditScimLinkChange(
  { op, before, after }: RowMutation<typeof securityGroupScimGroups>,
  tx: Transaction,
  by: ActorContext,
): void {
  const row = after ?? before;
  const group = row && superGroupOf(row.securityGroupId, tx);
  if (!group || op === "update") return;
  const code = op === "create" ? "trust.directory-group" : "trust.directory-group-ended";
  audit(securityGroupScimGroups, row.id, sentence(code, { group: group.name }), tx, by);
}

export function auditBreakGlassChange(
  { before, after }: RowMutation<typeof users>,
  tx: Transaction,
  by: ActorContext,
): void {
  const row = after ?? before;
  if (!row || (before?.breakGlass ?? false) === (after?.breakGlass ?? false)) return;
  const code = after?.breakGlass ? "trust.break-glass" : "trust.break-glass-ended";
  audit(users, row.id, sentence(code, { name: row.name }), tx, by);
}

/** Of a super user, by somebody else: the password alone then gives the highest rights. */
export function auditSecondFactorReset(
  { op, before }: RowMutation<typeof secondFactors>,
  tx: Transaction,
  by: ActorContext,
): void {
  if (op !== "delete" || !before || before.kind === "recovery-codes" || by.actor.userId === before.userId) return;
  const user = tx.get(users, before.userId);
  if (!user || !readUserRights(tx, user.pk).superUser) return;
  audit(users, user.id, sentence("trust.factor-removed", { name: user.name }), tx, by);
}

/** Set-up makes the first one. */
function isOnlyMember(tx: StoreReader): boolean {
  const members = tx.all(
    `SELECT m.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE g.super_group = 1 LIMIT 2`,
  );
  return members.length < 2;
}

function superGroupOf(id: string, tx: StoreReader): RowOf<typeof securityGroups> | null {
  const group = tx.get(securityGroups, id);
  return group?.superGroup ? group : null;
}

/** What replicates was audited where it was changed. */
function audit(resource: AnyResource, rowId: string, change: Sentence, tx: Transaction, by: ActorContext): void {
  if (!by.replicated) tx.addAuditEvent({ op: "trust-change", resource: resource.name, rowId, details: { change } }, by);
}
