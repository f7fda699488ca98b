import { BugError } from "../lib/errors.ts";
import type { Field } from "./field.ts";
import type { AnyResource, Method, ResourcePath } from "./resource.ts";

/** An incoming reference of a ref or many field. */
export interface InboundReference {
  from: AnyResource;
  field: string;
  kind: "ref" | "many";
}

/** All declarations of an appliance, checked against each other once at start. */
export interface Catalogue {
  readonly all: readonly AnyResource[];
  /** Throws BugError for an undeclared name. */
  byName(name: string): AnyResource;
  has(name: string): boolean;
  /** Fields of other resources that refer to this one. */
  inboundReferences(resource: AnyResource): readonly InboundReference[];
  /** References to undeclared resources (they accept only null or []), as `resource.field -> family`. */
  readonly undeclaredReferences: readonly string[];
}

/** Names in `{braces}` of a path, in order. */
export function pathParams(path: ResourcePath): string[] {
  return [...path.at.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

/** All operations unless the path lists its own. */
export function methodsOf(path: ResourcePath): readonly Method[] {
  return path.methods ?? ["get", "post", "put", "delete"];
}

/** The table of a resource: its name with `_` for `-`. */
export function tableName(resource: AnyResource): string {
  return resource.name.replaceAll("-", "_");
}

/** Last segment of the canonical path, used in error messages and permission specs. */
export function collectionName(resource: AnyResource): string {
  return canonicalPath(resource).at.split("/").at(-1) as string;
}

/** The canonical path of a resource, its first one. */
export function canonicalPath(resource: AnyResource): ResourcePath {
  const path = resource.paths[0];
  if (!path) throw new BugError(`resource ${resource.name} has no path`);
  return path;
}

/**
 * Ref fields whose rows decide the visibility of a row of scope `parent`: those in its paths and required ones, by
 * default.
 */
export function visibilityReferences(resource: AnyResource): readonly string[] {
  if (resource.visibilityReferences) return resource.visibilityReferences;
  const placeholders = new Set(resource.paths.filter((path) => !path.through).flatMap(pathParams));
  return Object.entries(resource.fields).flatMap(([name, spec]) =>
    spec.kind === "ref" && (spec.required || placeholders.has(name)) ? [name] : [],
  );
}

/** Checks declarations against each other. Throws BugError for duplicate names, unknown path refs and the like. */
export function createCatalogue(declarations: readonly AnyResource[]): Catalogue {
  const byName = new Map<string, AnyResource>();
  for (const resource of declarations) {
    if (byName.has(resource.name)) throw new BugError(`resource ${resource.name} is declared twice`);
    byName.set(resource.name, resource);
    checkDeclaration(resource);
  }
  const inbound = new Map<string, InboundReference[]>();
  const undeclaredReferences: string[] = [];
  for (const resource of declarations) {
    for (const [field, spec] of Object.entries(resource.fields)) {
      if (spec.kind !== "ref" && spec.kind !== "many") continue;
      if (!byName.has(spec.to)) undeclaredReferences.push(`${resource.name}.${field} -> ${spec.to}`);
      const list = inbound.get(spec.to) ?? [];
      list.push({ from: resource, field, kind: spec.kind });
      inbound.set(spec.to, list);
    }
  }
  return {
    all: [...declarations],
    has: (name) => byName.has(name),
    byName(name) {
      const resource = byName.get(name);
      if (!resource) throw new BugError(`resource ${name} not found`);
      return resource;
    },
    inboundReferences: (resource) => inbound.get(resource.name) ?? [],
    undeclaredReferences,
  };
}

function checkDeclaration(resource: AnyResource): void {
  for (const path of resource.paths) {
    if (path.through) continue;
    for (const param of pathParams(path)) {
      const field: Field | undefined = resource.fields[param];
      if (field?.kind !== "ref") throw new BugError(`resource ${resource.name}: {${param}} must be a ref field`);
    }
  }
  for (const name of resource.visibilityReferences ?? []) {
    if (resource.fields[name]?.kind !== "ref")
      throw new BugError(`resource ${resource.name}: visibilityReferences must name ref fields, not ${name}`);
  }
  const partial = Object.values(resource.partialIndexes ?? {}).map(({ fields }) => fields);
  for (const names of [...(resource.unique ?? []), ...(resource.indexes ?? []), ...partial]) {
    for (const name of names) {
      const known = name === "id" || name === "createdAt" || name in resource.fields;
      if (!known) throw new BugError(`resource ${resource.name} has no field ${name}`);
    }
  }
}
