import { BugError } from "../../lib/errors.ts";
import { type Catalogue, canonicalPath, pathParams, tableName } from "../../schema/catalogue.ts";
import { boolean, computed, integer, text, timestamp, uuid } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ApiRequest } from "../action.ts";
import { compileListParameters, MAX_PAGE_ROWS } from "../query/list-query.ts";
import type { UntypedRow } from "./representation.ts";

/** A reference whose referring rows are listed below its target. */
export interface DependentsList {
  target: AnyResource;
  from: AnyResource;
  /** The field that refers. */
  field: string;
  /** Last segment of the path: `message-template-dependents`. */
  name: string;
}

const NAME = { max: 100_000 } as const;
const REQUIRED = { required: true } as const;
const OPTIONAL = { sometimes: true, nullable: true } as const;

/** One row that refers. @source docs/decisions/0042-api-contract.md */
const DEPENDENT = {
  resourceId: uuid("Id of the row.", REQUIRED),
  resourceName: text("Name of the row.", { ...NAME, ...REQUIRED }),
  parentResourceId: computed("Id of the parent row.", "text", OPTIONAL),
  parentResourceName: computed("Name of the parent row.", "text", OPTIONAL),
  domainId: computed("Id of the home domain.", "text", OPTIONAL),
  domainName: computed("Name of the home domain.", "text", OPTIONAL),
  createdAt: timestamp("Creation time.", REQUIRED),
  updatedAt: timestamp("Time of the last change.", REQUIRED),
};

/** A page of referring rows. */
export const DEPENDENTS_RESPONSE = {
  total: integer("Number of matching rows visible to the caller.", REQUIRED),
  partial: boolean("True if the page does not contain all rows.", REQUIRED),
  previous: text("Token of the previous page.", NAME),
  next: text("Token of the next page.", NAME),
  data: computed("Referring rows.", "array", { of: DEPENDENT }),
};

/** The parameters of the list. */
export const DEPENDENTS_QUERY = {
  limit: integer("Maximum number of rows per page.", { min: 1, max: MAX_PAGE_ROWS, default: 100 }),
  start: text("`next` or `previous` of an earlier page, or `end`.", NAME),
  q: text("Search text.", NAME),
  includeTotal: boolean("False omits `total`.", { default: true }),
};

/** All dependents lists, from the references of the declarations. Throws BugError if two share a path. */
export function dependentsLists(catalogue: Catalogue): DependentsList[] {
  const found = catalogue.all.flatMap((target) =>
    catalogue.inboundReferences(target).flatMap(({ from, field }) => {
      const spec = from.fields[field];
      const name = spec && "dependents" in spec ? spec.dependents : undefined;
      return name === undefined ? [] : [{ target, from, field, name: `${name}-dependents` }];
    }),
  );
  const paths = new Set(found.map(({ target, name }) => `${target.name} ${name}`));
  if (paths.size < found.length) throw new BugError("Two references use the same dependents path.");
  return found;
}

/** Compiles the list of rows that refer to one row: the requested page, limited to rows visible to the caller. */
export function compileDependentsList({ from, field }: DependentsList, catalogue: Catalogue) {
  const parseParameters = compileListParameters(from);
  const present = compileNaming(from, catalogue);
  return ({ deps: { store }, query, by }: ApiRequest, targetId: string): Record<string, unknown> => {
    const parameters = parseParameters(query);
    const filters = [...(parameters.filters ?? []), { field, op: "eq", value: targetId } as const];
    const { rows, total, partial, previous, next } = store.page(from, { ...parameters, filters, scope: by.scope });
    const data = present(store, rows as unknown as UntypedRow[]);
    return { ...(total === null ? {} : { total }), partial, previous, next, data };
  };
}

interface NamedReference {
  field: string;
  target: AnyResource;
}

/**
 * Compiles how referring rows are named: by name or subject; an association by the associated row (a role at a site);
 * a child (an action of an alarm) by its parent. An alarm is named by its type.
 */
function compileNaming(from: AnyResource, catalogue: Catalogue) {
  const params = pathParams(canonicalPath(from));
  const referenceOf = (field: string | undefined): NamedReference | null => {
    const spec = field === undefined ? undefined : from.fields[field];
    return field !== undefined && spec?.kind === "ref" ? { field, target: catalogue.byName(spec.to) } : null;
  };
  const parent = referenceOf(params.at(-1));
  const nameField = ["name", "subject"].find((field) => field in from.fields);
  const isAssociation = ([field, spec]: [string, { kind: string; required?: boolean }]): boolean =>
    spec.kind === "ref" && spec.required === true && !params.includes(field);
  const association =
    nameField === undefined ? referenceOf(Object.entries(from.fields).find(isAssociation)?.[0]) : null;
  const inDomain = from.scope === "domain";
  return (reader: StoreReader, rows: readonly UntypedRow[]): Record<string, unknown>[] => {
    const parents = parent ? namesOf(reader, parent.target, rows, parent.field) : null;
    const associationNames = association ? namesOf(reader, association.target, rows, association.field) : null;
    const domains = inDomain ? namesOf(reader, catalogue.byName("domains"), rows, "domainId") : null;
    return rows.map((row) => ({
      resourceId: association ? row[association.field] : row.id,
      resourceName:
        (association
          ? associationNames?.get(row[association.field] as string)
          : nameField
            ? row[nameField]
            : nameById(parents, row[parent?.field ?? ""])) ?? "",
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
