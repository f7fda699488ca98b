import type { Field, ValueOf } from "./field.ts";

/** The generic operations of a path; `put`, `delete` and `get` by id, `post` and `get` on the collection. */
export type Method = "get" | "post" | "put" | "delete";

/** That something is on its way out, by calendar day `YYYY-MM-DD` in UTC. */
export interface Deprecation {
  /** The day from which it should no longer be used. */
  since: string;
  /** The day on which it stops being served; open when not given. */
  sunset?: string;
  /** Path below `/api/` that takes its place. */
  successor?: string;
}

/**
 * One place in the API where a resource appears. `at` is written as in the API description:
 * `users/{userId}/devices`; each `{name}` is a ref field of the resource, filled from the path.
 */
export interface ResourcePath {
  at: string;
  /** Operations served here; all four unless said otherwise. */
  methods?: readonly Method[];
  /** A ref field whose target's id addresses an item too (`users/{userId}/security-groups/{securityGroupId}`). */
  itemBy?: string;
  /** What is served here is on its way out: told in every answer's headers. */
  deprecated?: Deprecation;
  /**
   * Rows are found through another resource: those whose id stands in `via` of the `resource` rows that match the
   * path's ref fields (`users/{userId}/notifications` through `notification-recipients`), but for those rows of it
   * whose field `hiddenBy` is set; a DELETE there sets it to the time.
   */
  through?: { resource: string; via: string; hiddenBy?: string };
}

/** What the data of a resource is to replication. @source replication.md 4: A config of the cloud, B config editable at the site, C site state, D facts, E momentary; local = never leaves */
export type ReplicationClass = "A" | "B" | "C" | "D" | "E" | "local";

/** Everything there is to say about a REST resource; the engine makes table, API, checks, feed and audit from it. */
export interface ResourceDeclaration<F extends Readonly<Record<string, Field>> = Readonly<Record<string, Field>>> {
  /** Unique name in kebab-case = file name; the table has `_` for `-`. */
  name: string;
  /** One sentence. */
  doc: string;
  /** Where it appears in the API; the first one is canonical. */
  paths: readonly ResourcePath[];
  /** Placeholder for its own id, such as `userId`. */
  idParam: string;
  /** `domain`: visible within domains; `organisation`: one for all; `parent`: follows the parent in the path. */
  scope: "domain" | "organisation" | "parent";
  /** Ref fields whose rows must all be in sight for a row of scope `parent` to be; those that its paths name or it can't be without, unless given. */
  visibilityReferences?: readonly string[];
  /** Field (or `id`) that holds the domain to which a row of scope `organisation` belongs; without, it belongs to all. */
  domainField?: string;
  replicate: ReplicationClass;
  fields: F;
  /** Most rows allowed: in all, or per value of the ref field `per`; rows whose timestamp field `until` has passed don't count. */
  limit?: { most: number; per?: string; until?: string };
  /** Field combinations that must be unique, compared without case. */
  unique?: readonly (readonly string[])[];
  /** Extra indexes beside those of refs and unique fields; with `id` at its end one gives the order of a list. */
  indexes?: readonly (readonly string[])[];
  /** Facts are written in bulk by their room: neither audited nor in the change feed row by row. */
  appendOnly?: boolean;
  /** Facts that are in the full-text index like all else, since they are listed as a whole. */
  fullTextSearched?: boolean;
  /** Field lists are sorted by when the caller doesn't ask: `createdAt` unless said otherwise. */
  sort?: string;
  /** POST `…/{id}/clone` copies the row; children named here are copied too. */
  clone?: { children?: readonly string[]; omit?: readonly string[] };
}

/** Declares a REST resource; data only. Usage: one default export per file under `resources/`. */
export function defineResource<const F extends Readonly<Record<string, Field>>>(
  declaration: ResourceDeclaration<F>,
): ResourceDeclaration<F> {
  return declaration;
}

/** A declaration whose fields are not known to the type checker. */
export type AnyResource = ResourceDeclaration;

type StoredFields<F> = { [K in keyof F as F[K] extends { kind: "computed" } ? never : K]: F[K] };

type IsAlwaysSet<F> = F extends { required: true } | { default: unknown } | { kind: "many" } ? true : false;

/** Members that every row has. Times are epoch ms; `pk` is the internal integer key, never shown. */
export interface RowBase {
  pk: number;
  id: string;
  createdAt: number;
  updatedAt: number;
  /** Home domain's id of a domain-scoped row, else null. */
  domainId: string | null;
  /** Further domains that a domain-scoped row is in, null for none; never one above or below another. */
  alsoIn: readonly string[] | null;
}

/** A row of the resource `R` as rooms see it: ids for references, epoch ms for times, null for what is not set. */
export type RowOf<R> =
  R extends ResourceDeclaration<infer F>
    ? RowBase & {
        -readonly [K in keyof StoredFields<F>]: IsAlwaysSet<StoredFields<F>[K]> extends true
          ? ValueOf<F[K & keyof F]>
          : ValueOf<F[K & keyof F]> | null;
      }
    : never;

/** Values that Carillon itself sets on a row, read-only and internal fields included. */
export type SystemValues<R> = Partial<Omit<RowOf<R>, "pk">>;
