import type { Catalogue } from "../schema/catalogue.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";

/** A column that holds one field. */
export interface Column {
  field: string;
  spec: Field;
  name: string;
  type: "TEXT" | "INTEGER" | "REAL";
  /** Table whose `pk` the column holds, for ref fields. */
  target: string | null;
}

/** The table that holds a many field: rows (owner, position, target), internal keys. */
export interface Link {
  field: string;
  table: string;
  target: string;
}

/** How a declaration lies in the database. Fields of undeclared families have neither column nor link. */
export interface Layout {
  resource: AnyResource;
  table: string;
  columns: readonly Column[];
  links: readonly Link[];
  /** Fields without storage: refs and lists of references to families that nobody declared. */
  absent: readonly { field: string; empty: null | readonly never[] }[];
  columnOf(field: string): Column | undefined;
}

/** Words that SQL keeps for itself and that fields are named by. */
const SQL_WORDS: ReadonlySet<string> = new Set(["default", "from", "group", "index", "order", "to", "values", "where"]);

/** `messageTemplateId` → `message_template_id`, `default` → `default_`. */
function snake(name: string): string {
  const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return SQL_WORDS.has(column) ? `${column}_` : column;
}

/** Lays out one declaration; pure. */
export function layOut(resource: AnyResource, catalogue: Catalogue): Layout {
  const table = tableOf(resource);
  const columns: Column[] = [];
  const links: Link[] = [];
  const absent: { field: string; empty: null | readonly never[] }[] = [];
  for (const [field, spec] of Object.entries(resource.fields)) {
    if (spec.kind === "computed") continue;
    if (spec.kind === "ref" || spec.kind === "many") {
      if (!catalogue.has(spec.to)) {
        absent.push({ field, empty: spec.kind === "ref" ? null : [] });
        continue;
      }
      const target = tableOf(catalogue.byName(spec.to));
      if (spec.kind === "many") links.push({ field, table: `${table}__${snake(field)}`, target });
      else columns.push({ field, spec, name: `${snake(field).replace(/_id$/, "")}_pk`, type: "INTEGER", target });
      continue;
    }
    columns.push({ field, spec, name: snake(field), type: columnType(spec), target: null });
  }
  const byField = new Map(columns.map((column) => [column.field, column]));
  return { resource, table, columns, links, absent, columnOf: (field) => byField.get(field) };
}

function columnType(spec: Field): Column["type"] {
  if (spec.kind === "internal") return spec.type === "text" ? "TEXT" : spec.type === "integer" ? "INTEGER" : "REAL";
  if (spec.kind === "integer" || spec.kind === "boolean" || spec.kind === "timestamp") return "INTEGER";
  return spec.kind === "number" ? "REAL" : "TEXT";
}

/** True for texts that are compared, sorted and kept unique without case. */
export function ignoresCase(spec: Field | undefined): boolean {
  return spec?.kind === "text";
}

/** Turns a field's inner value into what its column holds; references are resolved before. */
export function encode(spec: Field, value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (spec.kind === "boolean") return value ? 1 : 0;
  if (spec.kind === "list" || spec.kind === "object" || spec.kind === "json" || spec.kind === "file") {
    return JSON.stringify(value);
  }
  return value as string | number;
}

/** The way back of `encode`. */
export function decode(spec: Field, value: unknown): unknown {
  if (value === null) return null;
  if (spec.kind === "boolean") return value === 1;
  if (spec.kind === "list" || spec.kind === "object" || spec.kind === "json" || spec.kind === "file") {
    return JSON.parse(value as string);
  }
  return value;
}
