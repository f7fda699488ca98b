import type { Clock } from "../../lib/clock.ts";
import {
  findRightsHeldOnlyBy,
  type RightsSource,
  readRightsSource,
  type UserRight,
} from "../../permissions/permission-diff.ts";
import devices from "../../resources/devices/devices.ts";
import users from "../../resources/people/users.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { DryRunWrite } from "../../store/dry-run.ts";
import type { AccessScope, StoreReader } from "../../store/store.ts";
import { buildVisibilitySql } from "../../store/visibility-sql.ts";
import {
  diffDevices,
  diffUsers,
  type RecipientDiff,
  type RecipientIdLists,
  type RecipientTargets,
  targetsOfRecipients,
  targetsOfRow,
} from "./recipient-diff.ts";

/** Impact of a row on people, read in a dry run. */
export interface RowImpact {
  targets: RecipientTargets | null;
  given: RightsSource | null;
}

/** Count, and the first 100 that the caller may see. */
export interface CountWithSample<T> {
  count: number;
  first: T[];
}

interface NamedRow {
  id: string;
  name: string;
}

/** A permission that a user gains or loses; `*` on `*` is that of a super group. */
interface NamedPermission {
  userId: string;
  userName: string;
  verb: string;
  spec: string;
  /** Domain that it is limited to; null for all domains of the user. */
  domainId: string | null;
}

/** Impact of a write: recipients, devices and permissions. */
export interface ChangeImpact {
  users: { joining: CountWithSample<NamedRow>; leaving: CountWithSample<NamedRow> };
  devices: { joining: CountWithSample<NamedRow>; leaving: CountWithSample<NamedRow> };
  access: { gaining: CountWithSample<NamedPermission>; losing: CountWithSample<NamedPermission> };
}

/** `scope` decides which names are visible. */
export interface ChangeImpactDeps {
  reader: StoreReader;
  clock: Clock;
  scope: AccessScope;
}

const NO_TARGETS: RecipientTargets = { lists: [], users: [], groups: [], definitions: new Map() };
const MAX_NAMED = 100;

/** Records the impact of each row that a dry run writes. */
export function rowImpactAt(now: number): (reader: StoreReader, resource: AnyResource, row: object) => RowImpact {
  return (reader, resource, row) => ({
    targets: targetsOfRow(reader, resource, row, now),
    given: readRightsSource(reader, resource, row),
  });
}

/**
 * Recipients and permissions that a dry run adds and removes. A template's recipients are those of all its lists and
 * users together; those of a list, a subscription and a group are their own. A user who also has a permission by
 * another rule neither gains nor loses it.
 */
export async function measureImpact(
  written: readonly DryRunWrite<RowImpact>[],
  deps: ChangeImpactDeps,
): Promise<ChangeImpact> {
  const people: RecipientDiff = { joining: [], leaving: [] };
  const things: RecipientDiff = { joining: [], leaving: [] };
  const holdings: { gaining: UserRight[]; losing: UserRight[] } = { gaining: [], losing: [] };
  // A write may touch thousands of rows that have no impact.
  const affected = written.filter(({ before, after }) =>
    [before, after].some((side) => side !== null && (side.seen.targets !== null || side.seen.given !== null)),
  );
  for (const { before, after } of affected) {
    const [then, now] = [before?.seen.targets ?? NO_TARGETS, after?.seen.targets ?? NO_TARGETS];
    add(people, await diffUsers(then, now, deps));
    add(things, await diffDevices(then, now, deps));
    const [had, has] = [before?.seen.given ?? null, after?.seen.given ?? null];
    holdings.gaining.push(...findRightsHeldOnlyBy(has, had, deps.reader));
    holdings.losing.push(...findRightsHeldOnlyBy(had, has, deps.reader));
  }
  return {
    users: { joining: named(people.joining, USERS, deps), leaving: named(people.leaving, USERS, deps) },
    devices: { joining: named(things.joining, DEVICES, deps), leaving: named(things.leaving, DEVICES, deps) },
    access: { gaining: namedPermissions(holdings.gaining, deps), losing: namedPermissions(holdings.losing, deps) },
  };
}

/** Current recipients of a selection. */
export async function measureReach(
  recipients: RecipientIdLists,
  deps: ChangeImpactDeps,
): Promise<{ users: CountWithSample<NamedRow>; devices: CountWithSample<NamedRow> }> {
  const targets = targetsOfRecipients(deps.reader, recipients);
  const people = await diffUsers(NO_TARGETS, targets, deps);
  const things = await diffDevices(NO_TARGETS, targets, deps);
  return { users: named(people.joining, USERS, deps), devices: named(things.joining, DEVICES, deps) };
}

function add(to: RecipientDiff, { joining, leaving }: RecipientDiff): void {
  to.joining = to.joining.concat(joining);
  to.leaving = to.leaving.concat(leaving);
}

const USERS = { resource: users, table: "users", name: "name" };
const DEVICES = { resource: devices, table: "devices", name: "description" };

function named(
  all: readonly number[],
  of: typeof USERS | typeof DEVICES,
  deps: ChangeImpactDeps,
): CountWithSample<NamedRow> {
  const pks = visiblePks(all, of, deps);
  const names = namesOf(pks, of, deps);
  return { count: pks.length, first: pks.slice(0, MAX_NAMED).flatMap((pk) => names.get(pk) ?? []) };
}

/** Users that the acting domain cannot see are not counted. */
function visiblePks(
  pks: readonly number[],
  { resource, table }: typeof USERS | typeof DEVICES,
  { reader, scope }: ChangeImpactDeps,
): readonly number[] {
  const sight = scope.domainVisibility.visible(resource);
  if (sight === "all" || sight === "none") return sight === "all" ? pks : [];
  const sql = `SELECT t.pk FROM ${table} t WHERE t.pk IN (SELECT value FROM json_each(?)) AND (${sight.sql})`;
  const visible = new Set(reader.all<{ pk: number }>(sql, JSON.stringify(pks), ...sight.params).map(({ pk }) => pk));
  return pks.filter((pk) => visible.has(pk));
}

function namedPermissions(all: readonly UserRight[], deps: ChangeImpactDeps): CountWithSample<NamedPermission> {
  const visible = new Set(
    visiblePks(
      all.map(({ userPk }) => userPk),
      USERS,
      deps,
    ),
  );
  const holdings = all.filter(({ userPk }) => visible.has(userPk));
  const first = holdings.slice(0, MAX_NAMED);
  const names = namesOf(
    first.map(({ userPk }) => userPk),
    USERS,
    deps,
  );
  const permissions = first.flatMap(({ userPk, verb, spec, domainId }) => {
    const user = names.get(userPk);
    return user ? [{ userId: user.id, userName: user.name, verb, spec, domainId }] : [];
  });
  return { count: holdings.length, first: permissions };
}

/** Ids and names of the first 100 that the caller may see. */
function namesOf(
  pks: readonly number[],
  { resource, table, name }: typeof USERS | typeof DEVICES,
  { reader, scope }: ChangeImpactDeps,
): Map<number, NamedRow> {
  if (pks.length === 0) return new Map();
  const visible = buildVisibilitySql(scope.visible(resource));
  const lines = reader.all<{ pk: number; id: string; name: string }>(
    `SELECT t.pk, t.id, t.${name} AS name FROM ${table} t
     WHERE t.pk IN (SELECT value FROM json_each(?)) AND ${visible.sql}`,
    JSON.stringify(pks.slice(0, MAX_NAMED)),
    ...visible.params,
  );
  return new Map(lines.map(({ pk, id, name: text }) => [pk, { id, name: text }]));
}
