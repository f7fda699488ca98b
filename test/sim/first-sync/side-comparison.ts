import { administrationSubscriptionId } from "../../../src/resources/lists/administration-list.ts";
import type { Catalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import type { ProductNode } from "./product-node.ts";
import { type GraphRow, replicatedResources } from "./row-graph.ts";

/** All rows of resources that replicate, by `resource/id`. */
export type Snapshot = ReadonlyMap<string, { type: string; row: GraphRow }>;

export function snapshotOf({ store, catalogue }: Pick<ProductNode, "store" | "catalogue">): Snapshot {
  const all = new Map<string, { type: string; row: GraphRow }>();
  for (const resource of replicatedResources(catalogue)) {
    for (const row of store.find(resource, {}, 10_000) as unknown as GraphRow[])
      all.set(`${resource.name}/${row.id}`, { type: resource.name, row });
  }
  return all;
}

/** Resources and references (`resource.field`) of which there is one. */
export function coverageOf(rows: Snapshot, catalogue: Catalogue): Set<string> {
  const covered = new Set<string>();
  for (const { type, row } of rows.values()) {
    covered.add(type);
    for (const [name, field] of Object.entries(catalogue.byName(type).fields))
      if ((field.kind === "ref" || field.kind === "many") && [row[name] ?? []].flat().length > 0)
        covered.add(`${type}.${name}`);
  }
  return covered;
}

/** Fields that each side has for itself. @source docs/decisions/0466-secrets-and-replication.md */
const OWN_FIELDS: ReadonlySet<string> = new Set(["pk", "lastUsedAt", "lastUsedAddress", "loadSourceId"]);
/** Fields that joining changes in rows that stay at the appliance. */
const CHANGED_BY_JOINING: ReadonlySet<string> = new Set(["name", "disabled", "enabled", "lock", "updatedAt"]);
const UUIDS = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Tokens made at an appliance are valid only there. */
const LOCAL_TOKENS = "user-tokens";
/** What a daemon writes about itself, also before it is linked and while it stops. */
const OWN_HISTORY: ReadonlySet<string> = new Set(["alarm-events", "endpoint-activities", "system-health-events"]);
/** The same rows on every side, each with its own state. @source docs/decisions/0300-sync-limits.md */
const ALARMS = "alarms";

interface Comparison {
  mode: "adopt" | "join";
  catalogue: Catalogue;
  hub: ProductNode;
  site: ProductNode;
  before: { hub: Snapshot; site: Snapshot };
  endpointId: string;
  /** A daemon ran, which writes history about itself until it stops. */
  hasOwnHistory?: boolean;
}

/** What was lost, or is not the same on both sides; judged by the rows alone. */
export function compareSides(comparison: Comparison): string[] {
  const own = new RegExp(`: (${[...OWN_HISTORY].join("|")})/`);
  const found = findDifferences(comparison);
  return comparison.hasOwnHistory ? found.filter((line) => !own.test(line)) : found;
}

function findDifferences({ mode, catalogue, hub, site, before, endpointId }: Comparison): string[] {
  const [there, here] = [snapshotOf(hub), snapshotOf(site)];
  const found: string[] = [];
  const shared = sharedIdsOf(before);
  const knownBefore = new Set(
    [...before.site.values()].map(({ type, row }) => `${type}/${shared.get(row.id) ?? row.id}`),
  );
  const sharedIds = new Set(shared.values());
  const renamed = (row: GraphRow): GraphRow =>
    // Paths of domains have ids within them.
    JSON.parse(JSON.stringify(row).replace(UUIDS, (id) => shared.get(id) ?? id)) as GraphRow;
  for (const [key, { type, row }] of before.hub) {
    const now = there.get(key);
    if (!now) found.push(`lost in the cloud: ${key}`);
    else if (!sharedIds.has(row.id))
      found.push(
        ...differences("changed in the cloud", key, { catalogue, type, a: row, b: now.row, ignored: ["updatedAt"] }),
      );
  }
  for (const [key, { type, row }] of before.site) {
    if (shared.has(row.id)) {
      if (!here.has(`${type}/${shared.get(row.id)}`)) found.push(`lost at the appliance: ${key}`);
      continue;
    }
    // The cloud has made the same row since, and its version is the one that stays.
    if (mode === "join" && there.has(key)) continue;
    const now = here.get(key);
    if (!now) {
      found.push(`lost at the appliance: ${key}`);
      continue;
    }
    const ignored = mode === "join" ? [...CHANGED_BY_JOINING] : ["updatedAt"];
    found.push(
      ...differences("changed at the appliance", key, { catalogue, type, a: renamed(row), b: now.row, ignored }),
    );
  }
  for (const resource of replicatedResources(catalogue).filter(({ name }) => name !== ALARMS)) {
    const { name, replicate } = resource;
    const isConfiguration = replicate === "A" || replicate === "B";
    const keys = [...there.keys()].filter((key) => key.startsWith(`${name}/`));
    for (const key of keys) {
      const [a, b] = [there.get(key)?.row, here.get(key)?.row];
      if (!isConfiguration && !isOf(a, endpointId)) continue;
      if (!a) continue;
      // The cloud has history that it wrote itself.
      if (!b) found.push(...(replicate === "D" ? [] : [`only in the cloud: ${key}`]));
      else {
        const known = isConfiguration ? b : withoutLocalReferences(resource, b, there);
        found.push(...differences("unequal", key, { catalogue, type: name, a, b: known, ignored: [] }));
      }
    }
    for (const [key, { row, type }] of here) {
      if (type !== name || there.has(key) || name === LOCAL_TOKENS) continue;
      const isBefore = knownBefore.has(key);
      const isKeptLocal = isConfiguration
        ? mode === "join" && isBefore
        : (replicate === "D" && isBefore) || needsLocalRow(resource, row, there);
      if (!isKeptLocal && (isConfiguration || isOf(row, endpointId))) found.push(`only at the appliance: ${key}`);
    }
  }
  return found;
}

/** What the cloud shows of state and history: rows that stay at the appliance are not there. */
function withoutLocalReferences({ fields }: AnyResource, row: GraphRow, there: Snapshot): GraphRow {
  const known = Object.entries(row).map(([name, value]) => {
    const field = fields[name];
    if (field?.kind === "ref") return [name, there.has(`${field.to}/${value}`) ? value : null];
    if (field?.kind === "many") return [name, (value as string[]).filter((id) => there.has(`${field.to}/${id}`))];
    return [name, value];
  });
  return Object.fromEntries(known) as GraphRow;
}

/** Rows of a joined appliance that are part of a row which stays there. */
function needsLocalRow({ fields }: AnyResource, row: Readonly<Record<string, unknown>>, there: Snapshot): boolean {
  return Object.entries(fields).some(
    ([name, field]) => field.kind === "ref" && field.required === true && !there.has(`${field.to}/${row[name]}`),
  );
}

/** State and history of the appliance; rows without an endpoint are its own, too. */
const isOf = (row: GraphRow | undefined, endpointId: string): boolean =>
  (row?.endpointId ?? row?.initiatingEndpointId ?? endpointId) === endpointId;

/** New ids of the appliance's rows that exist once on every side, and of people who are on both: those of the cloud. */
function sharedIdsOf({ hub, site }: Comparison["before"]): Map<string, string> {
  const ids = new Map<string, string>();
  const align = (type: string, key: (row: GraphRow) => unknown): void => {
    const there = new Map<unknown, string>();
    // Where several have the same key, the oldest of each side is the same row.
    for (const { row } of rowsOf(hub, type)) if (!there.has(key(row))) there.set(key(row), row.id);
    for (const { row } of rowsOf(site, type)) {
      const id = there.get(key(row));
      if (id !== undefined) ids.set(row.id, id);
      there.delete(key(row));
    }
  };
  align("users", ({ email }) => email ?? {});
  align("domains", ({ parentId }) => (parentId === null ? "root" : {}));
  align("security-groups", ({ superGroup }) => (superGroup === true ? "administrators" : {}));
  align("notification-profiles", (row) => (row.default === true ? "default" : {}));
  for (const type of ["brandings", "tts-defaults"]) align(type, () => "one");
  for (const type of ["extensions", "distribution-lists"]) align(type, ({ id }) => id);
  align("security-group-members", ({ securityGroupId, userId }) =>
    [securityGroupId, userId].map((id) => ids.get(String(id)) ?? id).join(),
  );
  // Those that come with the list are named after their users.
  for (const { row } of rowsOf(site, "subscriptions")) {
    const userId = ids.get(String(row.userId));
    if (userId !== undefined && row.id === administrationSubscriptionId(String(row.userId)))
      ids.set(row.id, administrationSubscriptionId(userId));
  }
  align("subscriptions", ({ distributionListId, userId }) =>
    [distributionListId, userId].map((id) => ids.get(String(id)) ?? id).join(),
  );
  return ids;
}

const rowsOf = (rows: Snapshot, type: string) => [...rows.values()].filter((each) => each.type === type);

interface RowPair {
  catalogue: Catalogue;
  type: string;
  a: GraphRow;
  b: GraphRow;
  ignored: readonly string[];
}

function differences(what: string, key: string, { catalogue, type, a, b, ignored }: RowPair): string[] {
  const resource = catalogue.byName(type);
  return Object.keys({ ...a, ...b }).flatMap((name) => {
    if (OWN_FIELDS.has(name) || ignored.includes(name) || isOwn(catalogue, resource, name, a[name], b[name])) return [];
    const [left, right] = [textOf(resource, name, a[name]), textOf(resource, name, b[name])];
    return left === right ? [] : [`${what}: ${key} ${name}: ${left} / ${right}`];
  });
}

function textOf(resource: AnyResource, name: string, value: unknown): string {
  // The order of a list of ids has no meaning.
  const isIdList = resource.fields[name]?.kind === "many";
  return JSON.stringify(isIdList ? [...((value ?? []) as string[])].sort() : (value ?? null));
}

/** Encrypted secrets, and references to rows that never leave their side. */
function isOwn(catalogue: Catalogue, resource: AnyResource, name: string, a: unknown, b: unknown): boolean {
  const field = resource.fields[name];
  if (field?.kind === "secret" && field.stored !== "hash") return true;
  if (field?.kind === "json" && [a, b].some((value) => JSON.stringify(value ?? null).includes('"v1:'))) return true;
  if (field?.kind !== "ref" && field?.kind !== "many") return false;
  const to = catalogue.has(field.to) ? catalogue.byName(field.to).replicate : "local";
  return to === "local" || to === "E";
}
