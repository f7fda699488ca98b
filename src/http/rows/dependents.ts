import { BugError } from "../../lib/errors.ts";
import { type Catalogue, canonicalPath, pathParams, tableName } from "../../schema/catalogue.ts";
import { boolean, computed, integer, text, timestamp, uuid } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ApiRequest } from "../action.ts";
import { compileListParameters, MAX_PAGE_ROWS } from "../query/list-query.ts";
import type { UntypedRow } from "./representation.ts";

/** A family whose rows refer to another one, where that lists them. */
export interface DependentsList {
  target: AnyResource;
  from: AnyResource;
  /** The field that refers. */
  field: string;
  /** Last segment of the path: `message-template-dependents`. */
  name: string;
}

const NAME = { max: 100_000 } as const;
const SURE = { required: true } as const;
const SOMETIMES = { sometimes: true, nullable: true } as const;

/** One row that refers. @source digest, the paths that end in `-dependents` */
const DEPENDENT = {
  resourceId: uuid("Its id.", SURE),
  resourceName: text("What it is called.", { ...NAME, ...SURE }),
  parentResourceId: computed("Id of what it belongs to.", "text", SOMETIMES),
  parentResourceName: computed("What that is called.", "text", SOMETIMES),
  domainId: computed("Its home domain.", "text", SOMETIMES),
  domainName: computed("That domain's name.", "text", SOMETIMES),
  createdAt: timestamp("When it was made.", SURE),
  updatedAt: timestamp("When it was last changed.", SURE),
};

/** The answer: a page of what refers. */
export const DEPENDENTS_RESPONSE = {
  total: integer("How many there are that the caller sees.", SURE),
  partial: boolean("Whether there are more than this page holds.", SURE),
  previous: text("`start` of the page before.", NAME),
  next: text("`start` of the page after.", NAME),
  data: computed("What refers to it.", "array", { of: DEPENDENT }),
};

/** The parameters of the list. */
export const DEPENDENTS_QUERY = {
  limit: integer("Most rows of the page.", { min: 1, max: MAX_PAGE_ROWS, default: 100 }),
  start: text("`next` or `previous` of an earlier page, or `end`.", NAME),
  q: text("Words to search for.", NAME),
  includeTotal: boolean("False leaves out `total`.", { default: true }),
};

/** What is listed where, from the references of all declarations. Throws BugError where two share a path. */
export function dependentsLists(catalogue: Catalogue): DependentsList[] {
  const found = catalogue.all.flatMap((target) =>
    catalogue.inboundReferences(target).flatMap(({ from, field }) => {
      const spec = from.fields[field];
      const name = spec && "dependents" in spec ? spec.dependents : undefined;
      return name === undefined ? [] : [{ target, from, field, name: `${name}-dependents` }];
    }),
  );
  const paths = new Set(found.map(({ target, name }) => `${target.name} ${name}`));
  if (paths.size < found.length) throw new BugError("Two references list their rows at one path.");
  return found;
}

/** Compiles the list of the rows that refer to one: the page that the query asks for, of what the caller sees. */
export function compileDependentsList({ from, field }: DependentsList, catalogue: Catalogue) {
  const asked = compileListParameters(from);
  const shown = compileNaming(from, catalogue);
  return ({ needs: { store }, query, by }: ApiRequest, targetId: string): Record<string, unknown> => {
    const wanted = asked(query);
    const filters = [...(wanted.filters ?? []), { field, op: "eq", value: targetId } as const];
    const { rows, total, partial, previous, next } = store.page(from, { ...wanted, filters, scope: by.scope });
    const data = shown(store, rows as unknown as UntypedRow[]);
    return { ...(total === null ? {} : { total }), partial, previous, next, data };
  };
}

/** A reference whose row's name is shown. */
interface NamedReference {
  field: string;
  target: AnyResource;
}

/**
 * How rows of a family are called: by their name or subject; one that has neither ties two others together and is called
 * by what is tied to its parent (a role at a site), one that is part of its parent (an action of an alarm) as that. own
 * choice: an alarm is called by its type.
 */
function compileNaming(from: AnyResource, catalogue: Catalogue) {
  const params = pathParams(canonicalPath(from));
  const named = (field: string | undefined): NamedReference | null => {
    const spec = field === undefined ? undefined : from.fields[field];
    return field !== undefined && spec?.kind === "ref" ? { field, target: catalogue.byName(spec.to) } : null;
  };
  const parent = named(params.at(-1));
  const own = ["name", "subject"].find((field) => field in from.fields);
  const isAssociation = ([field, spec]: [string, { kind: string; required?: boolean }]): boolean =>
    spec.kind === "ref" && spec.required === true && !params.includes(field);
  const tie = own === undefined ? named(Object.entries(from.fields).find(isAssociation)?.[0]) : null;
  const inDomain = from.scope === "domain";
  return (reader: StoreReader, rows: readonly UntypedRow[]): Record<string, unknown>[] => {
    const parents = parent ? namesOf(reader, parent.target, rows, parent.field) : null;
    const ties = tie ? namesOf(reader, tie.target, rows, tie.field) : null;
    const domains = inDomain ? namesOf(reader, catalogue.byName("domains"), rows, "domainId") : null;
    return rows.map((row) => ({
      resourceId: tie ? row[tie.field] : row.id,
      resourceName:
        (tie ? ties?.get(row[tie.field] as string) : own ? row[own] : nameById(parents, row[parent?.field ?? ""])) ??
        "",
      ...(parent
        ? { parentResourceId: row[parent.field], parentResourceName: nameById(parents, row[parent.field]) }
        : {}),
      ...(inDomain ? { domainId: row.domainId, domainName: nameById(domains, row.domainId) } : {}),
      createdAt: new Date(row.createdAt).toISOString(),
      updatedAt: new Date(row.updatedAt).toISOString(),
    }));
  };
}

function nameById(names: ReadonlyMap<string, string> | null, id: unknown): string | null {
  return names?.get(id as string) ?? null;
}

function namesOf(
  reader: StoreReader,
  target: AnyResource,
  rows: readonly UntypedRow[],
  field: string,
): ReadonlyMap<string, string> {
  const ids = [...new Set(rows.map((row) => row[field]))];
  const found = reader.all<{ id: string; name: string }>(
    `SELECT id, ${"name" in target.fields ? "name" : "type AS name"} FROM ${tableName(target)} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(found.map(({ id, name }) => [id, name]));
}
