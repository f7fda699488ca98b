import brandings from "../../resources/branding/brandings.ts";
import extensions from "../../resources/devices/extensions.ts";
import domains from "../../resources/domains/domains.ts";
import { ADMINISTRATION_LIST_ID, administrationSubscriptionId } from "../../resources/lists/administration-list.ts";
import distributionLists from "../../resources/lists/distribution-lists.ts";
import subscriptions from "../../resources/people/subscriptions.ts";
import users from "../../resources/people/users.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import securityGroupMembers from "../../resources/security/security-group-members.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import ttsDefaults from "../../resources/speech/tts-defaults.ts";
import { tableName } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import { FEED_RECORDS } from "../hub/tables.ts";
import type { Digest } from "../protocol/frames.ts";

/**
 * How an appliance enters an organisation: `adopt`: its rows become the organisation's; `join`: it takes the
 * organisation's rows, and its own stay local.
 * @source docs/decisions/0040-replication.md, Section 4
 */
export type EnrolMode = "adopt" | "join";

/** Ids of the organisation that an appliance takes over: of singleton rows, and of people by e-mail address. */
export interface OrganisationBaseline {
  /** Row id by resource. */
  only: Readonly<Record<string, string>>;
  /** Ids of rows that both sides have. */
  shared: readonly string[];
  people: readonly (readonly [id: string, email: string])[];
  /** Administrators: ids of the memberships and of the users. */
  administrators: readonly (readonly [id: string, userId: string])[];
  /** Subscribers of the administration list: ids of the subscriptions and of the users; not sent by earlier releases. */
  subscribers?: readonly (readonly [id: string, userId: string])[] | undefined;
  /** Rows of the organisation by resource; not sent by earlier releases. */
  counts?: Readonly<Record<string, Digest>> | undefined;
}

/** Rows that exist exactly once on every appliance, with their selectors. */
const SINGLETONS: readonly { resource: AnyResource; where: Readonly<Record<string, unknown>> }[] = [
  { resource: domains, where: { parentId: null } },
  { resource: securityGroups, where: { superGroup: true } },
  { resource: notificationProfiles, where: { default: true } },
  { resource: brandings, where: {} },
  { resource: ttsDefaults, where: {} },
];

/** People sent with an enrolment; others are matched later. */
const MAX_PEOPLE = 100_000;

/** Reads it for an appliance that is sent the rows of scopes that `isSent` accepts. */
export function readOrganisationBaseline(
  reader: StoreReader,
  isSent: (scope: string | null) => boolean,
): OrganisationBaseline {
  const isSentRow = ({ scope }: { scope: string | null }): boolean => isSent(scope);
  const only = SINGLETONS.flatMap(({ resource, where }) => {
    const row = reader.find(resource, where as never, 1)[0];
    return row ? [[resource.name, row.id] as const] : [];
  });
  const scopeOf = (resource: AnyResource, row: string): string =>
    `(SELECT scope FROM ${FEED_RECORDS.name} WHERE type = '${resource.name}' AND id = ${row}.id) AS scope`;
  const people = reader
    .all<{ id: string; email: string; scope: string | null }>(
      `SELECT u.id, u.email, ${scopeOf(users, "u")} FROM users u WHERE u.email IS NOT NULL LIMIT ${MAX_PEOPLE}`,
    )
    .filter(isSentRow);
  const administrators = reader
    .all<{ id: string; user: string; scope: string | null }>(
      `SELECT m.id, u.id AS user, ${scopeOf(securityGroupMembers, "m")} FROM security_group_members m
       JOIN users u ON u.pk = m.user_pk JOIN security_groups g ON g.pk = m.security_group_pk
       WHERE g.id = ? LIMIT ${MAX_PEOPLE}`,
      Object.fromEntries(only)[securityGroups.name] ?? "",
    )
    .filter(isSentRow);
  const subscribers = reader
    .all<{ id: string; user: string; scope: string | null }>(
      `SELECT s.id, u.id AS user, ${scopeOf(subscriptions, "s")} FROM subscriptions s
       JOIN users u ON u.pk = s.user_pk JOIN distribution_lists l ON l.pk = s.distribution_list_pk
       WHERE l.id = ? LIMIT ${MAX_PEOPLE}`,
      ADMINISTRATION_LIST_ID,
    )
    .filter(isSentRow);
  const fixed = reader.get(distributionLists, ADMINISTRATION_LIST_ID) ? [ADMINISTRATION_LIST_ID] : [];
  return {
    subscribers: subscribers.map(({ id, user }) => [id, user]),
    administrators: administrators.map(({ id, user }) => [id, user]),
    only: Object.fromEntries(only),
    shared: [...reader.find(extensions, {}).map(({ id }) => id), ...fixed],
    people: people.map(({ id, email }) => [id, email]),
  };
}

/**
 * Gives the appliance's singleton rows the ids of the organisation, so that both are the same row. References use
 * internal keys and stay valid. Returns the ids that both sides have now.
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

/** The same for people, by e-mail address; returns the ids of those that exist on the appliance. */
export function alignPeopleIds(tx: Transaction, people: OrganisationBaseline["people"]): string[] {
  return people.flatMap(([id, email]) => {
    const own = tx.one<{ id: string }>("SELECT id FROM users WHERE email = ? COLLATE NOCASE", email);
    if (!own) return [];
    changeId(tx, users, own.id, id);
    changeId(tx, subscriptions, administrationSubscriptionId(own.id), administrationSubscriptionId(id));
    return [id];
  });
}

/** The same for the memberships by which those people are administrators. */
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

/** The same for their subscriptions to the administration list. */
export function alignSubscriberIds(
  tx: Transaction,
  subscribers: NonNullable<OrganisationBaseline["subscribers"]>,
): string[] {
  return subscribers.flatMap(([id, userId]) => {
    const own = tx.find(subscriptions, { distributionListId: ADMINISTRATION_LIST_ID, userId }, 1)[0];
    if (!own) return [];
    changeId(tx, subscriptions, own.id, id);
    return [id];
  });
}

function changeId(tx: Transaction, resource: AnyResource, from: string, to: string): void {
  if (from === to) return;
  const table = tableName(resource);
  tx.run(`UPDATE main.${table} SET id = ? WHERE id = ?`, to, from);
  if (resource.name === domains.name) tx.run(`UPDATE main.${table} SET path = replace(path, ?, ?)`, from, to);
}
