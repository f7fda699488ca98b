import { CallerError, ConflictError, LimitError } from "../../../src/lib/errors.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import type { Catalogue } from "../../../src/schema/catalogue.ts";
import type { Field, StoredFile } from "../../../src/schema/field.ts";
import type { AnyResource, RowBase } from "../../../src/schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../../../src/store/store.ts";
import { SAMPLE_OVERRIDES } from "../../api/sample-overrides.ts";
import { sampleInput } from "../../support/sample-values.ts";
import type { RandomSource } from "../seeded-random.ts";

/** A row with all its fields. */
export type GraphRow = RowBase & Readonly<Record<string, unknown>>;

export interface RowGraphDeps {
  store: Store;
  catalogue: Catalogue;
  by: ActorContext;
  random: RandomSource;
  /** The appliance that reports state and history; null at a cloud, which has none. */
  endpointId: string | null;
  /** Numbers of rows whose values must be unique on all sides. */
  serial: { next: number };
  /** Stores a file and returns what a row says of it. */
  storeFile(): StoredFile;
  /** Rows that may be referred to; default: all. */
  mayRefer?(type: string, id: string): boolean;
}

/** A declared reference, as `resource.field`. */
const referenceName = (type: string, field: string): string => `${type}.${field}`;

/** Resources that replicate, with their fields. */
export function replicatedResources(catalogue: Catalogue): AnyResource[] {
  return catalogue.all.filter(({ replicate }) => replicate !== "local" && replicate !== "E");
}

/** Those of which people and modules make rows. */
export function makeableResources(catalogue: Catalogue): AnyResource[] {
  return replicatedResources(catalogue).filter(({ name }) => !FIXED.has(name));
}

/** References of replicated resources to resources that replicate. */
function replicatedReferences(catalogue: Catalogue): { type: string; field: string; to: string }[] {
  const replicated = new Set(replicatedResources(catalogue).map(({ name }) => name));
  return replicatedResources(catalogue).flatMap(({ name, fields }) =>
    Object.entries(fields).flatMap(([field, spec]) =>
      isReference(spec) && replicated.has(spec.to) ? [{ type: name, field, to: spec.to }] : [],
    ),
  );
}

type ReferenceField = Extract<Field, { kind: "ref" | "many" }>;
const isReference = (field: Field): field is ReferenceField => field.kind === "ref" || field.kind === "many";

/** A random row of a resource; null if there is none. */
type Pick = (type: string) => string | null;

/** Values that hooks derive references from, or that hold ids in free JSON, by `resource.field`. */
const NESTED_REFERENCES: Readonly<Record<string, (pick: Pick, random: RandomSource) => unknown>> = {
  "scenarios.messages": (pick, random) =>
    some(random, 3).map((at) => ({
      ...{ id: random.id(), name: `Message ${at}` },
      ...drop({
        messageTemplateId: pick("message-templates"),
        confirmationRequestId: pick("confirmation-requests"),
        siteRoleIds: [pick("site-roles")].filter((id) => id !== null),
      }),
    })),
  "ring-lists.entries": (pick, random) =>
    some(random, 3).map((at) => ({
      ...{ id: random.id(), time: `0${at}:15:00`, messageTemplateId: pick("message-templates") },
      ...drop({ deviceGroupIds: ids(pick("device-groups")), distributionListIds: ids(pick("distribution-lists")) }),
    })),
  "bell-schedules.bellScheduleEntries": (pick, random) =>
    some(random, 3).map((entryNum) => ({ entryNum, ringListId: pick("ring-lists") })),
  "bell-schedules.bellScheduleExceptions": (pick, random) =>
    some(random, 2).map((at) => ({
      ...{ id: random.id(), startDate: `2031-1${at}-20`, endDate: `2031-1${at}-22` },
      ...drop({ ringListId: pick("ring-lists") }),
    })),
  "incident-plans.rostering": (pick) => ({
    ...{ type: "roll-call", statuses: ["safe", "missing"], locations: ["Gym"] },
    rosterMemberSiteRoleIds: ids(pick("site-roles")),
    rosterManagerSiteRoleIds: ids(pick("site-roles")),
  }),
};

/** Rows of these exist on each side from the beginning, and nobody makes more of them. */
const FIXED: ReadonlySet<string> = new Set(["alarms", "brandings", "tts-defaults"]);

/** References that hooks derive from these values. */
const DERIVED: ReadonlySet<string> = new Set([
  ...["scenarios.messageTemplateIds", "scenarios.confirmationRequestIds", "scenarios.siteRoleIds"],
  ...["ring-lists.messageTemplateIds", "ring-lists.deviceGroupIds", "ring-lists.distributionListIds"],
  "bell-schedules.ringListIds",
]);

/** Values that hooks accept, beside those of the samples of the API. */
const OVERRIDES: Readonly<Record<string, unknown>> = {
  "extensions.type": "collaboration",
  "extensions.deviceType": SAMPLE_OVERRIDES["collaboration-groups.type"],
};

const ids = (id: string | null): string[] => (id === null ? [] : [id]);
const some = (random: RandomSource, most: number): number[] =>
  Array.from({ length: 1 + random.below(most) }, (_, at) => at);
const drop = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

const ARGON2 = `$argon2id$v=19$m=19456,t=2,p=1$${"c".repeat(22)}$${"h".repeat(43)}`;

/** Values that only Carillon sets, by resource. */
const SYSTEM_VALUES: Readonly<
  Record<string, (random: RandomSource, serial: number, endpointId: string | null) => object>
> = {
  "user-tokens": (random) => ({ kind: "permanent", tokenHash: random.id() }),
  "scim-tokens": (random) => ({ tokenHash: random.id() }),
  applications: () => ({ clientSecret: ARGON2 }),
  scenarios: () => ({ confirmationPin: ARGON2 }),
  "dialcast-dialing-configurations": () => ({ pin: ARGON2 }),
  notifications: (_, __, endpointId) => ({ stage: "settled", settledAt: 1, initiatingEndpointId: endpointId }),
  extensions: (_, serial) => ({ plugin: `sample-${serial}` }),
};

/** Groups of references that must name rows which lie in each other: the innermost one decides the others. */
const PLACE_LEVELS = ["zone", "floor", "building", "site"] as const;
const PLACE_TYPES = { zone: "zones", floor: "floors", building: "buildings", site: "sites" } as const;

/**
 * Writes rows of every replicated resource, which refer to random rows of one another: forward, back, to themselves and in
 * circles. All checks and hooks of the product apply.
 */
export async function writeRowGraph(deps: RowGraphDeps, rowsPerType: number): Promise<void> {
  const { catalogue, random } = deps;
  const open = makeableResources(catalogue).filter(({ replicate }) => isMadeHere(replicate, deps));
  // What a row must refer to is made first, whatever the order of the declarations.
  for (let pass = 0; pass < 6 && open.length > 0; pass += 1) {
    for (const resource of shuffled(open, random)) {
      let made = 0;
      for (let nth = 0; nth < 1 + random.below(rowsPerType); nth += 1) made += (await makeRow(deps, resource)) ? 1 : 0;
      if (made > 0 && pass > 0) open.splice(open.indexOf(resource), 1);
      else if (made > 0 && random.happens(0.5)) open.splice(open.indexOf(resource), 1);
    }
  }
  for (const resource of replicatedResources(catalogue))
    if (isMadeHere(resource.replicate, deps)) await linkRows(deps, resource);
}

const isMadeHere = (replicate: string, { endpointId }: RowGraphDeps): boolean =>
  replicate === "A" || replicate === "B" || endpointId !== null;

/** A random row; false if the product refuses it. */
export async function makeRow(deps: RowGraphDeps, resource: AnyResource): Promise<boolean> {
  const { store, by, random } = deps;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const serial = deps.serial.next;
    deps.serial.next += 1;
    const pick = pickerOf(deps, store);
    const requiredOnly = attempt === 2 || random.happens(0.3);
    const table = Object.fromEntries(
      Object.entries(NESTED_REFERENCES).map(([name, make]) => [name, () => make(pick, random)]),
    );
    const input: Record<string, unknown> = sampleInput(resource, {
      ...{ serial, idOf: pick, requiredOnly },
      table: { ...SAMPLE_OVERRIDES, ...OVERRIDES, ...table },
    });
    const withoutSecrets = Object.entries(input).filter(([name]) => {
      const field = resource.fields[name];
      return field?.kind !== "secret" || field.stored !== "hash";
    });
    const body = { ...Object.fromEntries(withoutSecrets), ...uniqueTexts(resource, serial) };
    const system = systemValues(deps, resource, serial, pick);
    Object.assign(body, placesOf(resource, body, deps));
    try {
      await store.write((tx) => void tx.create(resource, body, by, { ...system, id: random.id() } as never));
      return true;
    } catch (error) {
      // The product may refuse random values, but not always.
      if (!isCallerError(error)) throw error;
    }
  }
  return false;
}

function uniqueTexts(resource: AnyResource, serial: number): Record<string, string> {
  const combined = new Set((resource.unique ?? []).flat());
  return Object.fromEntries(
    Object.entries(resource.fields).flatMap(([name, field]) => {
      if (field.kind !== "text" || field.readOnly) return [];
      if (!field.unique && !combined.has(name) && name !== "name") return [];
      if (field.format === "email") return [[name, `person${serial}@example.org`]];
      return [[name, (name === "name" ? `Name ${serial} é` : String(serial)).slice(0, field.max)]];
    }),
  );
}

function systemValues(
  { random, endpointId, storeFile }: RowGraphDeps,
  resource: AnyResource,
  serial: number,
  pick: Pick,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    if (!isReference(field) || !field.readOnly || DERIVED.has(referenceName(resource.name, name))) continue;
    const id = pick(field.to);
    if (id !== null && (field.required || random.happens(0.7))) values[name] = field.kind === "many" ? [id] : id;
  }
  for (const [name, field] of Object.entries(resource.fields))
    if (field.kind === "file" && (field.required || random.happens(0.3))) values[name] = storeFile();
  for (const name of OWN_ENDPOINT)
    if (endpointId !== null && resource.fields[name] && isReported(resource)) values[name] = endpointId;
  return { ...values, ...SYSTEM_VALUES[resource.name]?.(random, serial, endpointId) };
}

const OWN_ENDPOINT: readonly string[] = ["endpointId", "initiatingEndpointId"];
const isReported = ({ replicate }: AnyResource): boolean => replicate === "C" || replicate === "D";

function pickerOf({ random, catalogue, mayRefer }: RowGraphDeps, reader: StoreReader): Pick {
  return (type) => {
    if (!catalogue.has(type)) return null;
    const all = (reader.find(catalogue.byName(type), {}, 200) as unknown as GraphRow[]).filter(
      ({ id }) => mayRefer?.(type, id) ?? true,
    );
    return all.length === 0 ? null : random.pick(all).id;
  };
}

/** A place that lies in those that are given above it. */
function placesOf(
  resource: AnyResource,
  body: Readonly<Record<string, unknown>>,
  deps: RowGraphDeps,
): Record<string, unknown> {
  const { store, catalogue, random } = deps;
  const prefix = resource.fields.defaultSiteId ? "default" : "";
  const field = (level: string): string =>
    prefix === "" ? `${level}Id` : `${prefix}${level.charAt(0).toUpperCase()}${level.slice(1)}Id`;
  const levels = PLACE_LEVELS.filter((level) =>
    isReference((resource.fields[field(level)] as Field) ?? { kind: "text" }),
  );
  if (levels.length < 2 || !levels.some((level) => body[field(level)])) return {};
  const innermost = levels.find((level) => resource.fields[field(level)]?.required) ?? random.pick(levels);
  const start = levels[Math.min(levels.indexOf(innermost), random.below(levels.length))] as keyof typeof PLACE_TYPES;
  const type = catalogue.byName(PLACE_TYPES[start]);
  const id = pickerOf(deps, store)(type.name);
  const row = id === null ? null : (store.get(type, id) as unknown as GraphRow | null);
  if (!row) return {};
  const places = levels.map((level) => [
    field(level),
    level === start ? row.id : levels.indexOf(level) > levels.indexOf(start) ? (row[`${level}Id`] ?? null) : null,
  ]);
  return Object.fromEntries(places);
}

/** Lets rows refer to rows that were made after them, to themselves and back. */
async function linkRows(deps: RowGraphDeps, resource: AnyResource): Promise<void> {
  const { store, by, random } = deps;
  if (resource.appendOnly) return;
  const fields = Object.entries(resource.fields);
  const pick = pickerOf(deps, store);
  for (const { id, domainId } of store.find(resource, {}, 200) as unknown as GraphRow[]) {
    if (id === ONPREM_EXTENSION_ID || (resource.name === "endpoints" && id === deps.endpointId)) continue;
    for (const [name, field] of fields) {
      const nested = NESTED_REFERENCES[referenceName(resource.name, name)];
      if (nested && random.happens(0.5)) {
        await attempt(() => store.write((tx) => void tx.update(resource, id, { [name]: nested(pick, random) }, by)));
        continue;
      }
      if (!isReference(field) || field.required || field.createOnly || random.happens(0.4)) continue;
      if (DERIVED.has(referenceName(resource.name, name))) continue;
      // What an appliance reports is about itself.
      if (isReported(resource) && OWN_ENDPOINT.includes(name)) continue;
      const found = Array.from({ length: field.kind === "many" ? 3 : 1 }, () => pick(field.to)).filter(
        (to) => to !== null,
      );
      if (field.to === resource.name && random.happens(0.3)) found.push(id);
      const value = field.kind === "many" ? [...new Set(found)] : found.at(-1);
      if (value === undefined) continue;
      await attempt(() =>
        field.readOnly
          ? store.write((tx) => void tx.update(resource, id, {}, by, { [name]: value } as never))
          : store.write((tx) => void tx.update(resource, id, { [name]: value }, by)),
      );
    }
    if (resource.scope === "domain" && domainId !== null && random.happens(0.3)) {
      const home = pick("domains");
      if (home)
        await attempt(() => store.write((tx) => void tx.update(resource, id, {}, by, { domainId: home } as never)));
    }
  }
}

/** The product may refuse it: then the row stays as it is. */
async function attempt(write: () => Promise<unknown>): Promise<void> {
  await write().catch((error: unknown) => {
    if (!isCallerError(error)) throw error;
  });
}

const isCallerError = (error: unknown): boolean =>
  error instanceof CallerError || error instanceof ConflictError || error instanceof LimitError;

function shuffled<T>(from: readonly T[], random: RandomSource): T[] {
  const rest = [...from];
  return from.map(() => rest.splice(random.below(rest.length), 1)[0] as T);
}

/** Declared resources and references, as `resource.field`, of which there was none. */
export function missingFrom(covered: ReadonlySet<string>, catalogue: Catalogue): string[] {
  const resources = replicatedResources(catalogue).map(({ name }) => name);
  const references = replicatedReferences(catalogue).map(({ type, field }) => referenceName(type, field));
  return [...resources, ...references].filter((name) => !covered.has(name));
}
