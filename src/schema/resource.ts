/** The resource declaration: fields, references, paths and permissions of a type of row. `defineResource` makes one. */

import type { Field, ValueOf } from "./field.ts";

/** Generic operations of a path; `put`, `delete` and `get` by id, `post` and `get` on the collection. */
export type Method = "get" | "post" | "put" | "delete";

/** Deprecation, with dates as `YYYY-MM-DD` in UTC. */
export interface Deprecation {
  /** First day of the deprecation. */
  since: string;
  /** Last day of service; open if not given. */
  sunset?: string;
  /** Path below `/api/` of the replacement. */
  successor?: string;
}

/**
 * An API path of a resource. `at` is written as `users/{userId}/devices`; each `{name}` is a ref field of the
 * resource.
 */
export interface ResourcePath {
  at: string;
  /** Supported operations; default: all four. */
  methods?: readonly Method[];
  /**
   * A ref field by whose target id an item can also be addressed
   * (`users/{userId}/security-groups/{securityGroupId}`).
   */
  itemBy?: string;
  /** Deprecation of this path, announced in the headers of every response. */
  deprecated?: Deprecation;
  /**
   * Rows are found through another resource: those whose id is in `via` of the `resource` rows that match the path
   * (`users/{userId}/notifications` through `notification-recipients`), except rows whose field `hiddenBy` is set;
   * DELETE sets it to the current time.
   */
  through?: { resource: string; via: string; hiddenBy?: string };
}

/**
 * Replication class: A config owned by the cloud, B config editable at the site, C site state, D append-only facts, E
 * transient; local = never replicated.
 * @source docs/decisions/0040-replication.md; local = never leaves
 */
export type ReplicationClass = "A" | "B" | "C" | "D" | "E" | "local";

/** Declaration of a REST resource, from which table, API, validation, change feed and audit are generated. */
export interface ResourceDeclaration<F extends Readonly<Record<string, Field>> = Readonly<Record<string, Field>>> {
  /** Unique name in kebab-case = file name; the table has `_` for `-`. */
  name: string;
  /** One sentence. */
  doc: string;
  /** API paths; the first one is canonical. */
  paths: readonly ResourcePath[];
  /** Placeholder of its id, such as `userId`. */
  idParam: string;
  /** `domain`: visible within domains; `organisation`: shared by all; `parent`: follows the parent in the path. */
  scope: "domain" | "organisation" | "parent";
  /**
   * Ref fields whose rows must all be visible for a row of scope `parent` to be visible; default: those in its paths
   * and required ones.
   */
  visibilityReferences?: readonly string[];
  /** Field (or `id`) with the domain of a row of scope `organisation`; without it the row belongs to all domains. */
  domainField?: string;
  replicate: ReplicationClass;
  fields: F;
  /**
   * Maximum number of rows, in total or per value of the ref field `per`; rows whose timestamp field `until` has
   * passed do not count.
   */
  limit?: { most: number; per?: string; until?: string };
  /** Unique field combinations, case-insensitive. */
  unique?: readonly (readonly string[])[];
  /** Indexes in addition to those of refs and unique fields; one that ends with `id` supports a sort order. */
  indexes?: readonly (readonly string[])[];
  /**
   * Indexes by name over the few rows that an SQL condition selects. SQLite uses one for a query that repeats the
   * condition word for word.
   */
  partialIndexes?: Readonly<Record<string, { fields: readonly string[]; where: string }>>;
  /** Append-only rows, written in bulk by their module: neither audited nor in the change feed. */
  appendOnly?: boolean;
  /** Reading the rows through the API leaves an audit entry, summed up. */
  auditsReading?: boolean;
  /** Append-only rows that are included in the full-text index. */
  fullTextSearched?: boolean;
  /** Default sort field; `createdAt` if not given. */
  sort?: string;
  /** POST `…/{id}/clone` copies the row; children named here are copied too. */
  clone?: { children?: readonly string[]; omit?: readonly string[] };
}

/** Declares a REST resource; data only, as the default export of a file in `resources/`. */
export function defineResource<const F extends Readonly<Record<string, Field>>>(
  declaration: ResourceDeclaration<F>,
): ResourceDeclaration<F> {
  return declaration;
}

/** A declaration with fields of unknown type. */
export type AnyResource = ResourceDeclaration;

type StoredFields<F> = { [K in keyof F as F[K] extends { kind: "computed" } ? never : K]: F[K] };

type IsAlwaysSet<F> = F extends { required: true } | { default: unknown } | { kind: "many" } ? true : false;

/** Members of every row. Timestamps are epoch ms; `pk` is the internal integer key, never exposed. */
export interface RowBase {
  pk: number;
  id: string;
  createdAt: number;
  updatedAt: number;
  /** Id of the home domain of a domain-scoped row, otherwise null. */
  domainId: string | null;
  /** Additional domains of a domain-scoped row, null for none; never an ancestor or descendant of another one. */
  alsoIn: readonly string[] | null;
}

/** A row of the resource `R` inside Carillon: ids for references, epoch ms for timestamps, null for unset fields. */
export type RowOf<R> =
  R extends ResourceDeclaration<infer F>
    ? RowBase & {
        -readonly [K in keyof StoredFields<F>]: IsAlwaysSet<StoredFields<F>[K]> extends true
          ? ValueOf<F[K & keyof F]>
          : ValueOf<F[K & keyof F]> | null;
      }
    : never;

/** Values that Carillon sets itself, including read-only and internal fields. */
export type SystemValues<R> = Partial<Omit<RowOf<R>, "pk">>;
