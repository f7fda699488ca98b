import { createHash } from "node:crypto";
import { type Catalogue, visibilityReferences } from "../../schema/catalogue.ts";
import type { AnyResource, ReplicationClass } from "../../schema/resource.ts";

/** A declared reference of a replicated row; `isOptional`: the row may exist without it. */
export interface ReplicatedReference {
  name: string;
  to: string;
  isList: boolean;
  isOptional: boolean;
  /** Field that counts the targets that a list has lost. */
  lostIn?: string;
}

/** What decides to which domains a row belongs: itself, and the rows that it is part of. */
export interface RowHome {
  isInDomains: boolean;
  references: readonly { name: string; to: string }[];
}

/** What replication knows of the resources. */
export interface ReplicatedTypes {
  /** Names of the resources whose rows the cloud owns, sorted. */
  readonly cloudOwned: readonly string[];
  /** Names of the resources that are state of an appliance, sorted. */
  readonly siteState: readonly string[];
  /** Hash of the declarations of the cloud-owned resources; an appliance that finds another one fetches all rows. */
  readonly fingerprint: string;
  /** Greater than the rank of every resource that its rows refer to, cycles aside; below 1000. */
  dependencyRank(type: string): number;
  /** `local` for unknown resources. */
  replicationClass(type: string): ReplicationClass;
  /** Fields that hold lists of ids; additions and removals of both sides are merged. */
  idListFields(type: string): ReadonlySet<string>;
  /** Unique name field whose value may get a suffix on conflict; null if there is none. */
  nameField(type: string): string | null;
  fileFields(type: string): readonly string[];
  /** References to other resources, with the domain of rows that have one. */
  references(type: string): readonly ReplicatedReference[];
  homeOf(type: string): RowHome;
}

/** Derives them from the declarations. */
export function readReplicatedTypes(catalogue: Catalogue): ReplicatedTypes {
  const ranks = dependencyRanks(catalogue);
  const isFromCloud = ({ replicate }: AnyResource): boolean => replicate === "A" || replicate === "B";
  const fromCloud = catalogue.all.filter(isFromCloud).sort((a, b) => (a.name < b.name ? -1 : 1));
  const find = (type: string): AnyResource | null => (catalogue.has(type) ? catalogue.byName(type) : null);
  const known = new Map<string, string[]>();
  const references = new Map<string, ReplicatedReference[]>();
  const homes = new Map<string, RowHome>();
  const fieldsOf = (type: string, kind: "many" | "file"): string[] => {
    const key = `${kind}/${type}`;
    const fields = Object.entries(find(type)?.fields ?? {});
    const found = known.get(key) ?? fields.flatMap(([name, field]) => (field.kind === kind ? [name] : []));
    known.set(key, found);
    return found;
  };
  const declared = fromCloud.map(({ name, fields }) => [
    name,
    Object.entries(fields).map(([key, field]) =>
      // A secret that replicates now was ignored by the version before.
      field.kind === "secret" && field.stored === "hash" ? [key, field.kind, field.stored] : [key, field.kind],
    ),
  ]);
  return {
    cloudOwned: fromCloud.map(({ name }) => name),
    siteState: catalogue.all.flatMap(({ name, replicate }) => (replicate === "C" ? [name] : [])).sort(),
    fingerprint: createHash("sha256").update(JSON.stringify(declared)).digest("hex").slice(0, 16),
    dependencyRank: (type) => ranks.get(type) ?? 0,
    replicationClass: (type) => find(type)?.replicate ?? "local",
    idListFields: (type) => new Set(fieldsOf(type, "many")),
    fileFields: (type) => fieldsOf(type, "file"),
    references(type) {
      const found = references.get(type) ?? referencesOf(find(type), catalogue);
      references.set(type, found);
      return found;
    },
    homeOf(type) {
      const found = homes.get(type) ?? readHome(find(type));
      homes.set(type, found);
      return found;
    },
    nameField(type) {
      const name = find(type)?.fields.name;
      return name?.kind === "text" && name.unique ? "name" : null;
    },
  };
}

function readHome(resource: AnyResource | null): RowHome {
  if (!resource) return { isInDomains: false, references: [] };
  const references = visibilityReferences(resource).flatMap((name) => {
    const field = resource.fields[name];
    return field?.kind === "ref" ? [{ name, to: field.to }] : [];
  });
  return { isInDomains: resource.scope === "domain", references };
}

/** References to local resources are left out: rows of one side, which the other side clears. */
function referencesOf(resource: AnyResource | null, catalogue: Catalogue): ReplicatedReference[] {
  if (!resource) return [];
  const declared = Object.entries(resource.fields).flatMap(([name, field]): ReplicatedReference[] => {
    if ((field.kind !== "ref" && field.kind !== "many") || !catalogue.has(field.to)) return [];
    const { replicate } = catalogue.byName(field.to);
    if (replicate === "local" || replicate === "E") return [];
    const lostIn = field.kind === "many" && field.lostIn ? { lostIn: field.lostIn } : {};
    return [{ name, to: field.to, isList: field.kind === "many", isOptional: field.required !== true, ...lostIn }];
  });
  const home = { name: "domainId", to: "domains", isList: false, isOptional: false };
  return resource.scope === "domain" && catalogue.has("domains") ? [home, ...declared] : declared;
}

/** Topological order, referenced resources first; within cycles the order is arbitrary. */
function dependencyRanks(catalogue: Catalogue): Map<string, number> {
  const ranks = new Map<string, number>();
  const open = new Set<string>();
  const visit = (resource: AnyResource): void => {
    if (ranks.has(resource.name) || open.has(resource.name)) return;
    open.add(resource.name);
    for (const { to } of referencesOf(resource, catalogue)) visit(catalogue.byName(to));
    open.delete(resource.name);
    ranks.set(resource.name, ranks.size);
  };
  for (const resource of catalogue.all) visit(resource);
  return ranks;
}
