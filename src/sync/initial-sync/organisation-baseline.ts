import brandings from "../../resources/branding/brandings.ts";
import extensions from "../../resources/devices/extensions.ts";
import domains from "../../resources/domains/domains.ts";
import users from "../../resources/people/users.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import securityGroupMembers from "../../resources/security/security-group-members.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import ttsDefaults from "../../resources/speech/tts-defaults.ts";
import { tableName } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";

/**
 * How an appliance comes to an organisation: its rows become the organisation's (`adopt`), or it takes the organisation's
 * and keeps its own to itself (`join`). @source replication.md, amendments, stand-alone
 */
export type EnrolMode = "adopt" | "join";

/** The rows of an organisation that there is one of, and its people by address: an appliance has its own of each. */
export interface OrganisationBaseline {
  /** Id by the name of the resource. */
  only: Readonly<Record<string, string>>;
  /** Rows that both sides have by the same id. */
  shared: readonly string[];
  people: readonly (readonly [id: string, email: string])[];
  /** Who administers: ids of the memberships and of the people. */
  administrators: readonly (readonly [id: string, userId: string])[];
}

/** Rows that every appliance begins with one of, and by what they are known. */
const SINGLETONS: readonly { resource: AnyResource; where: Readonly<Record<string, unknown>> }[] = [
  { resource: domains, where: { parentId: null } },
  { resource: securityGroups, where: { superGroup: true } },
  { resource: notificationProfiles, where: { default: true } },
  { resource: brandings, where: {} },
  { resource: ttsDefaults, where: {} },
];

/** People that are told at most; more are matched as they come. */
const MAX_PEOPLE = 100_000;

/** What an appliance must know of the organisation to take its place in it. */
export function readOrganisationBaseline(reader: StoreReader): OrganisationBaseline {
  const only = SINGLETONS.flatMap(({ resource, where }) => {
    const row = reader.find(resource, where as never, 1)[0];
    return row ? [[resource.name, row.id] as const] : [];
  });
  const people = reader.all<{ id: string; email: string }>(
    `SELECT id, email FROM ${tableName(users)} WHERE email IS NOT NULL LIMIT ${MAX_PEOPLE}`,
  );
  const administrators = reader.all<{ id: string; user: string }>(
    `SELECT m.id, u.id AS user FROM security_group_members m JOIN users u ON u.pk = m.user_pk
     JOIN security_groups g ON g.pk = m.security_group_pk WHERE g.id = ? LIMIT ${MAX_PEOPLE}`,
    Object.fromEntries(only)[securityGroups.name] ?? "",
  );
  return {
    administrators: administrators.map(({ id, user }) => [id, user]),
    only: Object.fromEntries(only),
    shared: reader.find(extensions, {}).map(({ id }) => id),
    people: people.map(({ id, email }) => [id, email]),
  };
}

/**
 * Gives the rows that there is one of at the appliance and in the organisation the organisation's ids, so that they become
 * one. References are internal keys and stay. Returns the ids that both sides have by now.
 */
export function alignSingletonIds(
  tx: Transaction,
  { only, shared }: Pick<OrganisationBaseline, "only" | "shared">,
): string[] {
  const renamed = SINGLETONS.flatMap(({ resource, where }) => {
    const own = tx.find(resource, where as never, 1)[0];
    const id = only[resource.name];
    if (!own || id === undefined) return [];
    changeId(tx, resource, own.id, id);
    return [id];
  });
  return [...shared, ...renamed];
}

/** Does so with people, by their addresses; returns the ids of those that are at the appliance, too. */
export function alignPeopleIds(tx: Transaction, people: OrganisationBaseline["people"]): string[] {
  return people.flatMap(([id, email]) => {
    const own = tx.one<{ id: string }>("SELECT id FROM users WHERE email = ? COLLATE NOCASE", email);
    if (!own) return [];
    changeId(tx, users, own.id, id);
    return [id];
  });
}

/** And with the memberships of those people that make them administrators. */
export function alignAdministratorIds(
  tx: Transaction,
  administrators: OrganisationBaseline["administrators"],
): string[] {
  const group = tx.find(securityGroups, { superGroup: true }, 1)[0];
  return administrators.flatMap(([id, userId]) => {
    const own = group && tx.find(securityGroupMembers, { securityGroupId: group.id, userId }, 1)[0];
    if (!own) return [];
    changeId(tx, securityGroupMembers, own.id, id);
    return [id];
  });
}

function changeId(tx: Transaction, resource: AnyResource, from: string, to: string): void {
  if (from === to) return;
  const table = tableName(resource);
  tx.run(`UPDATE main.${table} SET id = ? WHERE id = ?`, to, from);
  if (resource.name === domains.name) tx.run(`UPDATE main.${table} SET path = replace(path, ?, ?)`, from, to);
}
