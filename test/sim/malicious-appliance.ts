import { createApplianceAuthority, type JudgeSiteChange } from "../../src/cloud-link/appliance-authority.ts";
import { createEvents } from "../../src/lib/events.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createAccessControl } from "../../src/permissions/access-control.ts";
import { domainIdsOf } from "../../src/permissions/domain-membership.ts";
import { accessHooks } from "../../src/permissions/hooks.ts";
import { readUserRights } from "../../src/permissions/rights.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import type { Catalogue } from "../../src/schema/catalogue.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import type { AnyResource, RowBase } from "../../src/schema/resource.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { ActorContext, ChangeCapture, Store } from "../../src/store/store.ts";
import { createHubChangeRecorder } from "../../src/sync/capture/change-recorders.ts";
import { setSiteScopes } from "../../src/sync/hub/handshake.ts";
import { initializeFeed } from "../../src/sync/hub/publish.ts";
import { APPLIANCE_DOMAINS, LINK_RECORDS } from "../../src/sync/hub/tables.ts";
import { applyUpstreamPage } from "../../src/sync/hub/upstream-feed.ts";
import type { UpstreamRow } from "../../src/sync/protocol/frames.ts";
import { productReplicatedTypes } from "../../src/sync/protocol/product-replicated-types.ts";
import { createSqliteProgramRunner, type SqliteProgramRunner } from "../../src/sync/storage/sqlite-program-runner.ts";
import { getRecord, putRecord } from "../../src/sync/storage/transaction-program.ts";
import { SYNC_TABLES } from "../../src/wiring/cloud-link.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { sampleInput } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { createBoundReader, READING_BUGS } from "./bound-reader.ts";
import { createRandomSource, type RandomSource } from "./seeded-random.ts";

/** Holes that are opened on purpose; the attack must get through each. */
const AUTHORITY_BUGS: Readonly<Record<string, (judge: JudgeSiteChange) => JudgeSiteChange>> = {
  "appliances-are-believed": () => () => null,
  "domains-do-not-matter": (judge) => (change, reader) => judge({ ...change, domainIds: null }, reader),
  "accounts-do-not-matter": (judge) => (change, reader) => (change.type === users.name ? null : judge(change, reader)),
};

/** All holes and mistakes, by name. */
export const APPLIANCE_BUGS: readonly string[] = [...Object.keys(AUTHORITY_BUGS), ...READING_BUGS];

export interface AttackResult {
  /** What the appliance gained, one line each; empty if nothing. */
  gains: string[];
  /** Rows sent, and how many of them changed something. */
  sent: number;
  /** Rows that it has been sent, as a bound appliance. */
  read: number;
  effective: number;
  /** Pages of rows that could not be applied at all. */
  failedPages: number;
}

type Row = RowBase & Readonly<Record<string, unknown>>;

/** Rights, and whom the organisation trusts: no appliance changes any of these. */
const TRUST = [
  ...["applications", "brandings", "domains", "scim-group-members", "scim-groups", "scim-tokens"],
  ...["security-group-members", "security-group-permissions", "security-group-scim-groups", "security-groups"],
  ...["distribution-list-scim-groups", "user-permissions", "identity-providers"],
];
const ROWS_PER_PAGE = 20;
const ENDPOINT = "0190b7c2-7f3a-7000-8000-000000000bad";
const STOLEN = "stolen by the appliance";

/**
 * A cloud with three domains, and an appliance that sends arbitrary well-formed rows. In every other seed it is bound to
 * one of the domains, and keeps all that it is sent. `bug` opens a hole. @source docs/decisions/0491-trust-in-appliances.md
 */
export async function runMaliciousAppliance(
  seed: number,
  rows: number,
  bug: string | null = null,
): Promise<AttackResult> {
  const random = createRandomSource(seed);
  const world = await openWorld(seed % 2 === 0, bug);
  const { bound, root } = world;
  const reader = bound && (await createBoundReader({ ...world, bound, root, endpoint: ENDPOINT }, bug));
  const result: AttackResult = { gains: [], sent: 0, read: 0, effective: 0, failedPages: 0 };
  try {
    for (let sent = 0; sent < rows && result.gains.length === 0; sent += ROWS_PER_PAGE) {
      const before = snapshot(world);
      const page = Array.from({ length: ROWS_PER_PAGE }, (_, at) => hostileRow(world, random, sent + at + 1));
      result.failedPages += (await send(world, page, sent)) ? 0 : 1;
      const after = snapshot(world);
      result.sent += page.length;
      result.effective += changesBetween(before, after).length;
      result.gains.push(...gainsOf(world, before, after));
      await moveRows(world, random);
      result.gains.push(...((await reader?.read()) ?? []));
    }
    result.gains.push(...((await reader?.verify()) ?? []));
    result.read = reader?.rows.size ?? 0;
  } finally {
    await world.close();
  }
  return result;
}

/** Meanwhile administrators move rows from one domain to another. */
async function moveRows({ store, catalogue, by, domainIds }: World, random: RandomSource): Promise<void> {
  const movable = catalogue.all.filter(({ name, scope }) => scope === "domain" && !TRUST.includes(name));
  const resource = random.pick(movable);
  const rows = store.find(resource, {}, 100);
  const [row, domainId, other] = [rows.length > 0 && random.pick(rows), random.pick(domainIds), random.pick(domainIds)];
  if (!row) return;
  const alsoIn = random.happens(0.3) && other !== domainId ? [other] : null;
  await store.write((tx) => void tx.update(resource, row.id, {}, by, { domainId, alsoIn } as object));
}

interface World {
  by: ActorContext;
  root: string;
  store: Store;
  catalogue: Catalogue;
  runner: SqliteProgramRunner;
  types: ReturnType<typeof productReplicatedTypes>;
  /** Domains of the appliance; null for the whole organisation. */
  bound: ReadonlySet<string> | null;
  domainIds: readonly string[];
  close(): Promise<void>;
}

async function openWorld(isBound: boolean, bug: string | null): Promise<World> {
  const clock = createFakeClock();
  const fail = (error: unknown): never => {
    throw error;
  };
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const hooks = Object.fromEntries(accessHooks(clock, catalogue).map(([resource, bound]) => [resource.name, bound]));
  const recording: { recorder: ChangeCapture | null } = { recorder: null };
  const of = { dataDir: makeTempDir(), catalogue, hooks, clock, events, log: silentLog, onFatal: fail };
  const store = openStore({ ...of, tables: SYNC_TABLES, recording });
  const access = createAccessControl({ store, catalogue, clock, events });
  const by = access.systemContext("test");
  const declared = productReplicatedTypes(catalogue);
  const homeOf: typeof declared.homeOf = (type) => ({ ...declared.homeOf(type), references: [] });
  const types = bug === "parts-are-sent" ? { ...declared, homeOf } : declared;
  const judge = createApplianceAuthority(catalogue);
  const open = bug === null ? undefined : AUTHORITY_BUGS[bug];
  const runner = createSqliteProgramRunner(store, catalogue, by, open ? open(judge) : judge);
  await runner.transact(() => initializeFeed("epoch"));
  await runner.transact(() => setSiteScopes(ENDPOINT, null));
  recording.recorder = createHubChangeRecorder({ runner, clock, types });
  const make = async (name: string, input: object, domainId?: string): Promise<string> =>
    (await store.create(catalogue.byName(name), input, by, domainId ? { domainId } : {})).id;
  const root = await make("domains", { name: "Root" });
  const north = await make("domains", { name: "North", parentId: root });
  const school = await make("domains", { name: "School", parentId: north });
  const south = await make("domains", { name: "South", parentId: root });
  const domainIds = [root, north, school, south];
  const admins = await make("security-groups", { name: "Administrators", superGroup: true }, root);
  const people: string[] = [];
  for (const [at, domainId] of [root, ...domainIds].entries())
    people.push(await make("users", { name: `Person ${at}`, email: `person${at}@example.org` }, domainId));
  await make("security-group-members", { securityGroupId: admins, userId: people[0] });
  for (const userId of people.slice(1)) await make("user-permissions", { userId, verb: "get", spec: "/sites/*" });
  for (const userId of people) {
    const system = { kind: "permanent", tokenHash: `hash of ${userId}` };
    await store.create(userTokens, { userId, name: "Token" }, by, system as never);
  }
  await fillDomains(store, catalogue, domainIds, by);
  if (isBound) await runner.transact(() => putRecord(APPLIANCE_DOMAINS, { endpoint: ENDPOINT, domainIds: [north] }));
  const bound = isBound ? new Set([north, school]) : null;
  const close = async (): Promise<void> => {
    access.close();
    await store.close();
  };
  return { store, catalogue, runner, types, bound, domainIds, by, root, close };
}

/** A row of every resource in every domain, where its declaration alone suffices to make one. */
async function fillDomains(
  store: Store,
  catalogue: Catalogue,
  domainIds: readonly string[],
  by: ActorContext,
): Promise<void> {
  const filled = new Set([...TRUST, "users", "user-tokens", "alarms", "audit-entries"]);
  for (const [serial, domainId] of domainIds.entries()) {
    const made = new Map<string, string>();
    for (const resource of catalogue.all) {
      if (filled.has(resource.name) || (resource.scope === "organisation" && serial > 0)) continue;
      const input = sampleInput(resource, {
        serial: serial + 1,
        idOf: (name) => made.get(name) ?? null,
        requiredOnly: true,
      });
      const home = resource.scope === "domain" ? { domainId } : {};
      const row = await store.create(resource, input, by, home as never).catch(() => null);
      if (row) made.set(resource.name, row.id);
    }
  }
}

const FAVOURITES = ["users", "user-tokens", "security-groups", "security-group-members", "user-permissions", "domains"];

/** An arbitrary row as the protocol allows it: any resource, any row, any fields. */
function hostileRow(
  { store, catalogue, types, domainIds }: World,
  random: RandomSource,
  sequence: number,
): UpstreamRow {
  const resource = random.happens(0.5) ? catalogue.byName(random.pick(FAVOURITES)) : random.pick(catalogue.all);
  const known = store.find(resource, {}, 100) as unknown as Row[];
  const target = known.length > 0 && random.happens(0.7) ? random.pick(known) : null;
  const id = target?.id ?? random.id();
  const pattern = known.length > 0 ? random.pick(known) : {};
  const values = { ...hostileValues(store, domainIds, random) } as Record<string, unknown>;
  const names = ["domainId", "alsoIn", ...Object.keys(resource.fields)].filter(() =>
    random.happens(target ? 0.2 : 0.8),
  );
  const set: Record<string, unknown> = target
    ? {}
    : { ...pattern, pk: undefined, name: `Name ${sequence}`, email: null };
  for (const name of names) if (name in values && random.happens(0.7)) set[name] = values[name];
  set.id = id;
  const cls = types.replicationClass(resource.name);
  const isEdit = cls === "A" || cls === "B" || random.happens(0.1);
  if (!isEdit) {
    const body = { ...(target ?? pattern), ...set, endpointId: ENDPOINT, initiatingEndpointId: ENDPOINT };
    return [random.happens(0.1) ? "d" : "p", resource.name, id, sequence, `uid ${sequence}`, body];
  }
  const op = target ? random.pick(["update", "update", "delete", "create"] as const) : "create";
  const edit = { op, set: op === "delete" ? {} : set, add: {}, remove: {}, was: {} };
  return [
    "p",
    "edit",
    `e${sequence}`,
    sequence,
    `uid ${sequence}`,
    { type: resource.name, id, edit, actor: "x", at: 1 },
  ];
}

/** Values that would help an attacker, by field. */
function hostileValues(store: Store, domainIds: readonly string[], random: RandomSource): Record<string, unknown> {
  const anyone = random.pick(store.find(users, {}, 100)).id;
  const group = store.one<{ id: string }>("SELECT id FROM security_groups LIMIT 1")?.id ?? null;
  return {
    ...{
      userId: anyone,
      domainId: random.pick(domainIds),
      alsoIn: random.happens(0.5) ? null : [random.pick(domainIds)],
    },
    ...{
      passwordHash: STOLEN,
      tokenHash: `${STOLEN} ${random.next()}`,
      providerKey: STOLEN,
      lock: { start: null, end: null },
    },
    ...{ superGroup: true, breakGlass: random.happens(0.5), verb: "post", spec: "/users", source: "user-loader" },
    ...{ securityGroupId: group, stage: "sending", email: `stolen${random.below(1e6)}@example.org`, kind: "permanent" },
    ...{ description: `see ${anyone}`, config: { of: anyone }, name: `Name ${random.below(1e6)}`, isShared: true },
  };
}

/** False if the page could not be applied. */
async function send({ runner, types }: World, rows: readonly UpstreamRow[], from: number): Promise<boolean> {
  const link = await runner.read(() => getRecord(LINK_RECORDS, ENDPOINT));
  const page = { t: "rows", feed: "up.hot", from, to: from + rows.length, tail: "t", rows } as const;
  // A page that cannot be applied at all ends the connection, and changes nothing.
  try {
    await runner.transact(() => applyUpstreamPage(page, { endpoint: ENDPOINT, sess: link?.sess ?? 0 }, types, 1_000));
    return true;
  } catch {
    await runner.transact(() => putRecord(LINK_RECORDS, { ...link, hotHw: page.to, hotTail: "t" } as never));
    return false;
  }
}

/** All rows, by resource and id. */
type Snapshot = ReadonlyMap<string, { resource: AnyResource; row: Row }>;

function snapshot({ store, catalogue }: World): Snapshot {
  const all = new Map<string, { resource: AnyResource; row: Row }>();
  for (const resource of catalogue.all) {
    if (resource.name === "audit-entries") continue;
    for (const row of store.find(resource, {}, 10_000) as unknown as Row[])
      all.set(`${resource.name}/${row.id}`, { resource, row });
  }
  return all;
}

interface Change {
  resource: AnyResource;
  id: string;
  before: Row | null;
  after: Row | null;
}

function changesBetween(before: Snapshot, after: Snapshot): Change[] {
  const changes: Change[] = [];
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(key), after.get(key)];
    const resource = (was ?? is)?.resource as AnyResource;
    if (JSON.stringify(was?.row) === JSON.stringify(is?.row)) continue;
    changes.push({ resource, id: key, before: was?.row ?? null, after: is?.row ?? null });
  }
  return changes;
}

/** What a change gave the appliance that is not its own. Judged by the rows alone, not by the code under test. */
function gainsOf(world: World, before: Snapshot, after: Snapshot): string[] {
  return changesBetween(before, after).flatMap((change) => {
    const what = gainOf(world, change, after);
    return what === null ? [] : [`${what}: ${change.id}`];
  });
}

function gainOf({ store, bound }: World, { resource, before, after }: Change, all: Snapshot): string | null {
  if (TRUST.includes(resource.name)) return "changed rights or trust";
  if (resource.name === userTokens.name && after) return "made or changed a token";
  if (resource.name === users.name && before && readUserRights(store, before.pk).superUser)
    return "changed a super user";
  if (resource.name === "notifications" && after && after.stage !== "settled" && after.stage !== before?.stage)
    return "has a notification sent";
  if (!bound || resource.scope !== "domain") return null;
  const isInside = (row: Row | null): boolean => row === null || domainIdsOf(row).some((id) => bound.has(id));
  if (!isInside(before) || !isInside(after)) return "changed a row of another domain";
  const old = new Set(idsIn(before));
  const reached = idsIn(after).find((id) => !old.has(id) && isElsewhere(id, all, bound));
  return reached ? `reaches ${reached} of another domain` : null;
}

/** Whether an id is that of a row which belongs to none of the domains, nor to one above. */
function isElsewhere(id: string, all: Snapshot, bound: ReadonlySet<string>): boolean {
  for (const { resource, row } of all.values()) {
    if (row.id !== id || resource.scope !== "domain") continue;
    const root = [...all.values()].find(
      ({ resource: { name }, row: each }) => name === "domains" && each.parentId === null,
    );
    return !domainIdsOf(row).some((each) => bound.has(each) || each === root?.row.id);
  }
  return false;
}

function idsIn(row: Row | null): string[] {
  return row ? [...JSON.stringify(row).matchAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)].map(([id]) => id) : [];
}
