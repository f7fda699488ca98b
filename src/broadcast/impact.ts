import { type Given, givenBy, type Holding, heldOnlyBy } from "../access/access-changes.ts";
import type { Clock } from "../base/clock.ts";
import devices from "../resources/devices/devices.ts";
import users from "../resources/people/users.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Rehearsed } from "../store/rehearsal.ts";
import { seenSql } from "../store/seen.ts";
import type { Reader, Scope } from "../store/store.ts";
import {
  type Difference,
  differingDevices,
  differingUsers,
  type Recipients,
  recipientTargets,
  type Targets,
  targetsOf,
} from "./reach.ts";

/** What a row means for people, seen within a rehearsal. */
export interface Meaning {
  targets: Targets | null;
  given: Given | null;
}

/** How many, and the first 100 of them that the asker may see. */
export interface Counted<T> {
  count: number;
  first: T[];
}

interface Named {
  id: string;
  name: string;
}

/** A right that somebody gains or loses; `*` on `*` is that of a super group. */
interface NamedHolding {
  userId: string;
  userName: string;
  verb: string;
  spec: string;
  /** Domain that it is limited to; null for wherever the user may act. */
  domainId: string | null;
}

/** What a write does to people: who is reached, what is called, who may do what. */
export interface Impact {
  users: { joining: Counted<Named>; leaving: Counted<Named> };
  devices: { joining: Counted<Named>; leaving: Counted<Named> };
  access: { gaining: Counted<NamedHolding>; losing: Counted<NamedHolding> };
}

/** What measuring needs; `scope` decides which names are told. */
export interface ImpactNeeds {
  reader: Reader;
  clock: Clock;
  scope: Scope;
}

const NOBODY: Targets = { lists: [], users: [], groups: [], definitions: new Map() };
const MOST_NAMED = 100;

/** What a rehearsal notes of each row it writes. */
export function meaningAt(now: number): (reader: Reader, resource: AnyResource, row: object) => Meaning {
  return (reader, resource, row) => ({
    targets: targetsOf(reader, resource, row, now),
    given: givenBy(reader, resource, row),
  });
}

/**
 * Who joins and leaves, and who gains and loses access, by what a rehearsal wrote. A template's people are those of all
 * its lists and users together; a list's, a subscription's and a group's are its own. Somebody who has a right by another
 * rule too neither gains nor loses it.
 */
export async function impactOf(written: readonly Rehearsed<Meaning>[], needs: ImpactNeeds): Promise<Impact> {
  const people: Difference = { joining: [], leaving: [] };
  const things: Difference = { joining: [], leaving: [] };
  const holdings: { gaining: Holding[]; losing: Holding[] } = { gaining: [], losing: [] };
  // A write may reach thousands of rows that mean nothing for people.
  const meant = written.filter(({ before, after }) =>
    [before, after].some((side) => side !== null && (side.seen.targets !== null || side.seen.given !== null)),
  );
  for (const { before, after } of meant) {
    const [then, now] = [before?.seen.targets ?? NOBODY, after?.seen.targets ?? NOBODY];
    add(people, await differingUsers(then, now, needs));
    add(things, await differingDevices(then, now, needs));
    const [had, has] = [before?.seen.given ?? null, after?.seen.given ?? null];
    holdings.gaining.push(...heldOnlyBy(has, had, needs.reader));
    holdings.losing.push(...heldOnlyBy(had, has, needs.reader));
  }
  return {
    users: { joining: named(people.joining, USERS, needs), leaving: named(people.leaving, USERS, needs) },
    devices: { joining: named(things.joining, DEVICES, needs), leaving: named(things.leaving, DEVICES, needs) },
    access: { gaining: namedHoldings(holdings.gaining, needs), losing: namedHoldings(holdings.losing, needs) },
  };
}

/** Whom and what recipients mean now. */
export async function reachOf(
  recipients: Recipients,
  needs: ImpactNeeds,
): Promise<{ users: Counted<Named>; devices: Counted<Named> }> {
  const targets = recipientTargets(needs.reader, recipients);
  const people = await differingUsers(NOBODY, targets, needs);
  const things = await differingDevices(NOBODY, targets, needs);
  return { users: named(people.joining, USERS, needs), devices: named(things.joining, DEVICES, needs) };
}

function add(to: Difference, { joining, leaving }: Difference): void {
  to.joining = to.joining.concat(joining);
  to.leaving = to.leaving.concat(leaving);
}

const USERS = { resource: users, table: "users", name: "name" };
const DEVICES = { resource: devices, table: "devices", name: "description" };

function named(all: readonly number[], of: typeof USERS | typeof DEVICES, needs: ImpactNeeds): Counted<Named> {
  const pks = inSight(all, of, needs);
  const names = namesOf(pks, of, needs);
  return { count: pks.length, first: pks.slice(0, MOST_NAMED).flatMap((pk) => names.get(pk) ?? []) };
}

/** Whom the acting domain does not show, nobody there is told the number of. */
function inSight(
  pks: readonly number[],
  { resource, table }: typeof USERS | typeof DEVICES,
  { reader, scope }: ImpactNeeds,
): readonly number[] {
  const sight = scope.inSight.visible(resource);
  if (sight === "all" || sight === "none") return sight === "all" ? pks : [];
  const sql = `SELECT t.pk FROM ${table} t WHERE t.pk IN (SELECT value FROM json_each(?)) AND (${sight.sql})`;
  const seen = new Set(reader.all<{ pk: number }>(sql, JSON.stringify(pks), ...sight.params).map(({ pk }) => pk));
  return pks.filter((pk) => seen.has(pk));
}

function namedHoldings(all: readonly Holding[], needs: ImpactNeeds): Counted<NamedHolding> {
  const seen = new Set(
    inSight(
      all.map(({ userPk }) => userPk),
      USERS,
      needs,
    ),
  );
  const holdings = all.filter(({ userPk }) => seen.has(userPk));
  const first = holdings.slice(0, MOST_NAMED);
  const names = namesOf(
    first.map(({ userPk }) => userPk),
    USERS,
    needs,
  );
  const told = first.flatMap(({ userPk, verb, spec, domainId }) => {
    const user = names.get(userPk);
    return user ? [{ userId: user.id, userName: user.name, verb, spec, domainId }] : [];
  });
  return { count: holdings.length, first: told };
}

/** Ids and names of the first 100, as far as the asker may see them. */
function namesOf(
  pks: readonly number[],
  { resource, table, name }: typeof USERS | typeof DEVICES,
  { reader, scope }: ImpactNeeds,
): Map<number, Named> {
  if (pks.length === 0) return new Map();
  const seen = seenSql(scope.visible(resource));
  const lines = reader.all<{ pk: number; id: string; name: string }>(
    `SELECT t.pk, t.id, t.${name} AS name FROM ${table} t
     WHERE t.pk IN (SELECT value FROM json_each(?)) AND ${seen.sql}`,
    JSON.stringify(pks.slice(0, MOST_NAMED)),
    ...seen.params,
  );
  return new Map(lines.map(({ pk, id, name: text }) => [pk, { id, name: text }]));
}
