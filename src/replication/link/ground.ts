import { newId } from "../../base/ids.ts";
import brandings from "../../resources/branding/brandings.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import domains from "../../resources/domains/domains.ts";
import users from "../../resources/people/users.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import securityGroupMembers from "../../resources/security/security-group-members.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import ttsDefaults from "../../resources/speech/tts-defaults.ts";
import { type Catalogue, tableOf } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { Reader, Transaction } from "../../store/store.ts";
import { bodyOf, travels } from "../bodies.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { linkState } from "../site/link-state.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import { beginTelling } from "../site/own-state.ts";
import type { SqliteWork } from "../sqlite-work.ts";

/**
 * How an appliance comes to an organisation: its rows become the organisation's (`adopt`), or it takes the organisation's
 * and keeps its own to itself (`join`). @source replication.md, amendments, stand-alone
 */
export type EnrolMode = "adopt" | "join";

/** The rows of an organisation that there is one of, and its people by address: an appliance has its own of each. */
export interface Ground {
  /** Id by the name of the resource. */
  only: Readonly<Record<string, string>>;
  /** Rows that both sides have by the same id. */
  shared: readonly string[];
  people: readonly (readonly [id: string, email: string])[];
  /** Who administers: ids of the memberships and of the people. */
  administrators: readonly (readonly [id: string, userId: string])[];
}

/** Rows that every appliance begins with one of, and by what they are known. */
const ONLY: readonly { resource: AnyResource; where: Readonly<Record<string, unknown>> }[] = [
  { resource: domains, where: { parentId: null } },
  { resource: securityGroups, where: { superGroup: true } },
  { resource: notificationProfiles, where: { default: true } },
  { resource: brandings, where: {} },
  { resource: ttsDefaults, where: {} },
];

/** People that are told at most; more are matched as they come. */
const MOST_PEOPLE = 100_000;
/** own choice: what an appliance's own row is called by once the organisation has rows of its own */
const SUFFIX = " (site)";

/** What an appliance must know of the organisation to take its place in it. */
export function groundOf(reader: Reader): Ground {
  const only = ONLY.flatMap(({ resource, where }) => {
    const row = reader.find(resource, where as never, 1)[0];
    return row ? [[resource.name, row.id] as const] : [];
  });
  const people = reader.all<{ id: string; email: string }>(
    `SELECT id, email FROM ${tableOf(users)} WHERE email IS NOT NULL LIMIT ${MOST_PEOPLE}`,
  );
  const administrators = reader.all<{ id: string; user: string }>(
    `SELECT m.id, u.id AS user FROM security_group_members m JOIN users u ON u.pk = m.user_pk
     JOIN security_groups g ON g.pk = m.security_group_pk WHERE g.id = ? LIMIT ${MOST_PEOPLE}`,
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
 * Gives the appliance's rows that the organisation has too the organisation's ids, so that they become one. References
 * are internal keys and stay. Returns the ids that both sides have now.
 */
export function alignGround(tx: Transaction, ground: Ground): Set<string> {
  const common = new Set<string>(ground.shared);
  for (const { resource, where } of ONLY) {
    const own = tx.find(resource, where as never, 1)[0];
    const id = ground.only[resource.name];
    if (!own || id === undefined) continue;
    rename(tx, resource, own.id, id);
    common.add(id);
  }
  for (const [id, email] of ground.people) {
    const own = tx.one<{ id: string }>("SELECT id FROM users WHERE email = ? COLLATE NOCASE", email);
    if (!own) continue;
    rename(tx, users, own.id, id);
    common.add(id);
  }
  const securityGroupId = ground.only[securityGroups.name] ?? "";
  for (const [id, userId] of ground.administrators) {
    const own = common.has(userId) ? tx.find(securityGroupMembers, { securityGroupId, userId }, 1)[0] : undefined;
    if (!own) continue;
    rename(tx, securityGroupMembers, own.id, id);
    common.add(id);
  }
  return common;
}

function rename(tx: Transaction, resource: AnyResource, from: string, to: string): void {
  if (from === to) return;
  const table = tableOf(resource);
  tx.run(`UPDATE main.${table} SET id = ? WHERE id = ?`, to, from);
  if (resource.name === domains.name) tx.run(`UPDATE main.${table} SET path = replace(path, ?, ?)`, from, to);
}

/** What bringing rows into the organisation needs. */
export interface AdoptNeeds {
  catalogue: Catalogue;
  types: ReplicatedTypes;
  work: Pick<SqliteWork, "within">;
  now: number;
}

/**
 * Sends all that the appliance has of the organisation's kinds of rows up, but for those in `common`: what is referred to
 * first. Its own state, such as its devices, follows.
 */
export function adoptRows(tx: Transaction, common: ReadonlySet<string>, needs: AdoptNeeds): void {
  const { catalogue, types, work } = needs;
  const kinds = [...types.fromCloud].sort((a, b) => types.rankOf(a) - types.rankOf(b));
  for (const type of kinds) {
    const resource = catalogue.byName(type);
    for (const { id } of tx.all<{ id: string }>(`SELECT id FROM ${tableOf(resource)} ORDER BY pk`)) {
      if (!common.has(id)) sendUp(tx, resource, id, needs);
    }
  }
  work.within(tx, beginTelling());
}

function sendUp(tx: Transaction, resource: AnyResource, id: string, { types, work, now }: AdoptNeeds): void {
  const row = tx.get(resource, id) as Readonly<Record<string, unknown>> | null;
  if (!row || !travels(resource, row)) return;
  const after = bodyOf(resource, row);
  const write = { type: resource.name, id, before: null, after, actor: "enrolment", at: now, newId };
  work.within(tx, recordLocalWrite(write, types));
}

/**
 * Renames the appliance's own rows, so that no row of the organisation finds its name taken, and switches them off: nothing
 * of them acts beside the organisation's. Who administered the appliance alone still can, should the cloud be out of reach;
 * its other people are locked. Of them all the organisation
 * gets the one that says who the appliance is, and then its own state, such as its devices.
 */
export function stepAside(tx: Transaction, common: ReadonlySet<string>, needs: AdoptNeeds): void {
  const { catalogue, types, work } = needs;
  for (const type of types.fromCloud) {
    const resource = catalogue.byName(type);
    const field = resource.fields.name;
    if (field?.kind !== "text" || LEFT_ON.has(type)) continue;
    const most = field.max - SUFFIX.length;
    const rows = tx.all<{ id: string; name: string }>(
      `SELECT id, name FROM ${tableOf(resource)} WHERE name IS NOT NULL`,
    );
    for (const { id, name } of rows) {
      if (common.has(id)) continue;
      const aside = `${[...name].slice(0, most).join("")}${SUFFIX}`;
      tx.run(`UPDATE main.${tableOf(resource)} SET name = ? WHERE id = ?`, aside, id);
    }
  }
  switchOff(tx, common, needs);
  sendUp(tx, endpoints, work.within(tx, linkState()).endpoint, needs);
  work.within(tx, beginTelling());
}

/** Members by which rows are switched on or off, and how they are when they are off. */
const SWITCHES = { disabled: 1, enabled: 0 } as const;
/** Plugins carry out what comes by the link, too. */
const LEFT_ON: ReadonlySet<string> = new Set([extensions.name]);

function switchOff(tx: Transaction, common: ReadonlySet<string>, { catalogue, types, now }: AdoptNeeds): void {
  const kept = JSON.stringify([...common]);
  for (const type of types.fromCloud) {
    const resource = catalogue.byName(type);
    for (const [field, off] of LEFT_ON.has(type) ? [] : Object.entries(SWITCHES)) {
      if (resource.fields[field]?.kind !== "boolean") continue;
      const sql = `UPDATE main.${tableOf(resource)} SET ${field} = ? WHERE id NOT IN (SELECT value FROM json_each(?))`;
      tx.run(sql, off, kept);
    }
  }
  tx.run(
    `UPDATE main.users SET lock = ? WHERE id NOT IN (SELECT value FROM json_each(?)) AND pk NOT IN (
       SELECT m.user_pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
       WHERE g.super_group = 1)`,
    JSON.stringify({ start: now, end: null }),
    kept,
  );
}
