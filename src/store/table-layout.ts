import type { Catalogue } from "../schema/catalogue.ts";
import { tableName } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";

/** A column that holds one field. */
export interface TableColumn {
  field: string;
  spec: Field;
  name: string;
  type: "TEXT" | "INTEGER" | "REAL";
  /** Table whose `pk` the column holds, for ref fields. */
  target: string | null;
}

/** The table that holds a many field: rows (owner, position, target), internal keys. */
export interface LinkTable {
  field: string;
  table: string;
  target: string;
}

/** How a resource is stored. References to undeclared resources have neither column nor link table. */
export interface TableLayout {
  resource: AnyResource;
  table: string;
  columns: readonly TableColumn[];
  links: readonly LinkTable[];
  /** Fields without storage: references to undeclared resources. */
  absent: readonly { field: string; empty: null | readonly never[] }[];
  columnOf(field: string): TableColumn | undefined;
}

/** SQL keywords that are also field names. */
const RESERVED_WORDS: ReadonlySet<string> = new Set([
  "default",
  "from",
  "group",
  "index",
  "order",
  "to",
  "values",
  "where",
]);

/** `messageTemplateId` → `message_template_id`, `default` → `default_`. */
function toColumnName(name: string): string {
  const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return RESERVED_WORDS.has(column) ? `${column}_` : column;
}

/** Builds the layout of one resource; pure. */
export function buildTableLayout(resource: AnyResource, catalogue: Catalogue): TableLayout {
  const table = tableName(resource);
  const columns: TableColumn[] = [];
  const links: LinkTable[] = [];
  const absent: { field: string; empty: null | readonly never[] }[] = [];
  for (const [field, spec] of Object.entries(resource.fields)) {
    if (spec.kind === "computed") continue;
    if (spec.kind === "ref" || spec.kind === "many") {
      if (!catalogue.has(spec.to)) {
        absent.push({ field, empty: spec.kind === "ref" ? null : [] });
        continue;
      }
      const target = tableName(catalogue.byName(spec.to));
      if (spec.kind === "many") links.push({ field, table: `${table}__${toColumnName(field)}`, target });
      else
        columns.push({ field, spec, name: `${toColumnName(field).replace(/_id$/, "")}_pk`, type: "INTEGER", target });
      continue;
    }
    columns.push({ field, spec, name: toColumnName(field), type: columnType(spec), target: null });
  }
  const byField = new Map(columns.map((column) => [column.field, column]));
  return { resource, table, columns, links, absent, columnOf: (field) => byField.get(field) };
}

function columnType(spec: Field): TableColumn["type"] {
  if (spec.kind === "internal") return spec.type === "text" ? "TEXT" : spec.type === "integer" ? "INTEGER" : "REAL";
  if (spec.kind === "integer" || spec.kind === "boolean" || spec.kind === "timestamp") return "INTEGER";
  return spec.kind === "number" ? "REAL" : "TEXT";
}

/** True for text fields: compared, sorted and unique without case. */
export function ignoresCase(spec: Field | undefined): boolean {
  return spec?.kind === "text";
}

/** Encodes a field value for its column; references are resolved before. */
export function encodeColumnValue(spec: Field, value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (spec.kind === "boolean") return value ? 1 : 0;
  if (spec.kind === "list" || spec.kind === "object" || spec.kind === "json" || spec.kind === "file") {
    return JSON.stringify(value);
  }
  return value as string | number;
}

/** Decodes a column value; inverse of `encodeColumnValue`. */
export function decodeColumnValue(spec: Field, value: unknown): unknown {
  if (value === null) return null;
  if (spec.kind === "boolean") return value === 1;
  if (spec.kind === "list" || spec.kind === "object" || spec.kind === "json" || spec.kind === "file") {
    return JSON.parse(value as string);
  }
  return value;
}
