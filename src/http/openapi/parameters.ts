import type { Field } from "../../schema/field.ts";
import { type JsonSchema, schemaOf } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { HeaderName } from "../action.ts";
import { compileFilterRules, type FilterRule, filterableFields } from "../query/filter-rules.ts";
import { MAX_PAGE_ROWS, sortableFields } from "../query/list-query.ts";
import { embeddedRelations, flaggedMembers } from "./row-schemas.ts";

/** A parameter object. */
export type Parameter = JsonSchema;

const TEXT = { type: "string" };
const FLAG = { type: "boolean" };

/** Parameters shared by many operations, by component name. */
export const SHARED_PARAMETERS: Readonly<Record<string, Parameter>> = {
  limit: inQuery("limit", "Maximum number of rows per page.", {
    type: "integer",
    minimum: 1,
    maximum: MAX_PAGE_ROWS,
    default: 100,
  }),
  start: inQuery("start", "`next` or `previous` of an earlier page, or `end` for the last one.", TEXT),
  skip: inQuery("skip", "Number of rows to skip.", { type: "integer", minimum: 0, maximum: 1_000_000 }),
  q: inQuery("q", 'Search: words, `attribute:value`, or JSON `{"and":[…]}` and `{"or":[…]}` of these.', TEXT),
  includeTotal: inQuery("includeTotal", "False omits `total`, which saves the count.", { ...FLAG, default: true }),
  ids: inQuery("ids[]", "Only these rows.", { type: "array", items: { type: "string", format: "uuid" } }),
  includeBinaryUrls: inQuery("includeBinaryUrls", "Returns the URLs of files.", { ...FLAG, default: false }),
  domain: inQuery("domain", "Acting domain; overrides the header.", { ...TEXT, format: "uuid" }),
  strict: inQuery("strict", "True refuses unknown parameters and fields, instead of naming them in `warnings`.", {
    ...FLAG,
    default: false,
  }),
  "x-service-domain": inHeader("x-service-domain", "Acting domain; default: the first domain of the user.", {
    ...TEXT,
    format: "uuid",
  }),
  "If-None-Match": inHeader("If-None-Match", "ETag of an earlier response; responds 304 if unchanged.", TEXT),
  "If-Match": inHeader("If-Match", "ETag of the known version of the row; responds 409 if it has changed.", TEXT),
  "Idempotency-Key": inHeader(
    "Idempotency-Key",
    "1 to 255 visible ASCII characters. Repeating the request within 24 hours returns the first response.",
    { ...TEXT, minLength: 1, maxLength: 255 },
  ),
};

const LIST_PARAMETERS = ["limit", "start", "skip", "q", "includeTotal", "ids"];
const COMMON_PARAMETERS = ["domain", "strict", "x-service-domain"];

/** References to shared parameters. */
export function sharedParameters(names: readonly string[]): Parameter[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Parameters of every authenticated request. */
export function commonParameters(): Parameter[] {
  return sharedParameters(COMMON_PARAMETERS);
}

/** References to the shared parameters of these headers. */
export function headerParameters(names: readonly HeaderName[]): Parameter[] {
  return sharedParameters(names);
}

/** Path parameters. */
export function pathParameters(at: string): Parameter[] {
  return [...at.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: name.endsWith("Id") ? { ...TEXT, format: "uuid" } : TEXT,
  }));
}

/** Query parameters declared as fields. */
export function queryParameters(fields: Readonly<Record<string, Field>>): Parameter[] {
  return Object.entries(fields).map(([name, field]) => {
    const several = field.kind === "list" || field.kind === "many";
    // JSON may be nested in brackets or given as text.
    const schema = field.kind === "json" ? {} : schemaOf(field);
    return inQuery(several ? `${name}[]` : name, field.doc, withoutDescription(schema));
  });
}

/** Flags that select parts of the representation. */
export function presentationParameters(resource: AnyResource): Parameter[] {
  const flags = new Map<string, { doc: string; shown: boolean }>();
  for (const { name, unless } of embeddedRelations(resource)) {
    flags.set(includeOf(name), { doc: `Returns ${name}.`, shown: true });
    const others = flags.get(unless ?? "")?.doc.replace(/\.$/, ", ") ?? "Omits ";
    if (unless) flags.set(unless, { doc: `${others}${name}.`, shown: false });
  }
  for (const [name, { when, unless }] of flaggedMembers(resource)) {
    const shown = { doc: `Returns ${name}.`, shown: when === undefined };
    for (const flag of [when ?? unless ?? ""].flat()) flags.set(flag, shown);
  }
  if (resource.scope === "domain") flags.set("includeDomain", { doc: "Returns the home domain.", shown: false });
  const found = [...flags].map(([name, { doc, shown }]) => inQuery(name, doc, { ...FLAG, default: shown }));
  const hasFiles = Object.values(resource.fields).some(({ kind }) => kind === "file");
  return hasFiles ? [...found, ...sharedParameters(["includeBinaryUrls"])] : found;
}

/** Filter, sort and paging parameters of a list. */
export function listParameters(resource: AnyResource): Parameter[] {
  const fields = filterableFields(resource);
  const filters = [...compileFilterRules(resource)].map(([name, rule]) =>
    filterParameter(name, rule, fields[rule.field] as Field),
  );
  const sorts = sortableFields(resource).flatMap((name) => [name, `-${name}`]);
  const sort = inQuery("sort", "Sort field; a leading `-` sorts in descending order.", { ...TEXT, enum: sorts });
  return [...sharedParameters(LIST_PARAMETERS), sort, ...filters, ...presentationParameters(resource)];
}

function filterParameter(name: string, { field: fieldName, op, several }: FilterRule, field: Field): Parameter {
  if (op === "set") return inQuery(name, `Only rows with (true) or without (false) a value of \`${fieldName}\`.`, FLAG);
  const { items, ...schema } = withoutDescription(schemaOf(field)) as { items?: JsonSchema };
  const one = items ?? schema;
  return several ? inQuery(`${name}[]`, field.doc, { type: "array", items: one }) : inQuery(name, field.doc, one);
}

/** A filter accepts any string; its description is that of the parameter. */
function withoutDescription(schema: JsonSchema): JsonSchema {
  const { description, readOnly, writeOnly, default: _default, uniqueItems, minLength, ...rest } = schema;
  const { "x-create-only": _createOnly, ...plain } = rest as Record<string, unknown>;
  return plain;
}

function includeOf(name: string): string {
  return `include${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function inQuery(name: string, description: string, schema: JsonSchema): Parameter {
  return { name, in: "query", description, schema };
}

function inHeader(name: string, description: string, schema: JsonSchema): Parameter {
  return { name, in: "header", description, schema };
}
