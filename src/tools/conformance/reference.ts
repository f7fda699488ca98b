import type { Method } from "../../schema/resource.ts";
import tables from "./reference.json" with { type: "json" };

/** A field of a documented table. */
export interface ReferenceField {
  /** As documented; members of objects with brackets: `campaign[url]`. */
  name: string;
  type: string;
  /** `read`: in responses only; `write`: in requests only; `query`: a parameter of lists. Default: requests and responses. */
  in?: "read" | "write" | "query";
  required?: boolean;
  options?: readonly string[];
  /** Maximum number of characters. */
  max?: number;
}

/** A documented path. */
export interface ReferencePath {
  /** Path below `/v1`: `/users/{userId}/devices`. */
  at: string;
  /** Supported operations: `put` and `delete` by id. */
  methods: readonly Method[];
  fields: readonly ReferenceField[];
  /** True if the API may support more operations. */
  more?: boolean;
  /** True if request bodies may be JSON, a form or multipart. */
  media?: boolean;
  /** True if GET returns a single object instead of a list. */
  single?: boolean;
  /** True if rows of another resource are added to or removed from a domain. */
  membership?: boolean;
  /** Maximum number of rows. */
  limit?: number;
  /** Maximum number of filters of one row. */
  filterLimit?: number;
  /** Fields that lists can be filtered by. */
  filters?: readonly string[];
}

/** The documented API, in the order of its paths. @source docs/decisions/0042-api-contract.md; docs/decisions/0001-lists-and-paging.md for methods */
export const REFERENCE = tables.paths as readonly ReferencePath[];

/** Resources that are also served below the on-premises prefix. @source docs/decisions/0042-api-contract.md, Versioning */
export const ON_PREMISES: readonly string[] = tables.onPremises;

/** Number of documented paths, operations and fields. */
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
