import type { Method } from "../../schema/resource.ts";
import tables from "./reference.json" with { type: "json" };

/** A field of a documented table. */
export interface ReferenceField {
  /** As documented; members of objects in brackets: `campaign[url]`. */
  name: string;
  type: string;
  /** `read`: only answered; `write`: only taken; `query`: a parameter of lists. Taken and answered unless said. */
  in?: "read" | "write" | "query";
  required?: boolean;
  options?: readonly string[];
  /** Most characters. */
  max?: number;
}

/** A documented path. */
export interface ReferencePath {
  /** Below `/v1`: `/users/{userId}/devices`. */
  at: string;
  /** Operations to be served: `put` and `delete` by id. */
  methods: readonly Method[];
  fields: readonly ReferenceField[];
  /** True where the interface may serve more operations than these. */
  more?: boolean;
  /** True where the bodies may be JSON, a form or multipart. */
  media?: boolean;
  /** True where a GET answers one object instead of a list. */
  single?: boolean;
  /** True where rows of another family are put into or taken out of a domain. */
  membership?: boolean;
  /** Most rows. */
  limit?: number;
  /** Most filters of one row. */
  filterLimit?: number;
  /** Fields that lists are narrowed by. */
  filters?: readonly string[];
}

/** The documented interface, in the order of its paths. @source service-api.md, all tables; decisions.md 1, methods */
export const REFERENCE = tables.paths as readonly ReferencePath[];

/** Families that have a prefix of their own as well. @source service-api.md, Versioning 3 */
export const ON_PREMISES: readonly string[] = tables.onPremises;

/** How much there is to check. */
export function countReferenceItems(paths: readonly ReferencePath[]): {
  paths: number;
  operations: number;
  fields: number;
} {
  const sum = (of: (path: ReferencePath) => number): number => paths.reduce((total, path) => total + of(path), 0);
  return {
    paths: paths.length,
    operations: sum(({ methods }) => methods.length),
    fields: sum(({ fields }) => fields.length),
  };
}
