import { unescapeCsvFormula } from "../lib/csv-formula.ts";
import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { camelCase, compileDecoder } from "../schema/decoder.ts";
import type { Field } from "../schema/field.ts";
import type { CellShorthand } from "./bell-shorthand.ts";

/** Converts the cells of a line to input for `create`. */
export interface RowParser {
  /** Empty cells are omitted. `idOf` resolves references. Throws CallerError with all errors of the line. */
  parse(
    cells: readonly string[],
    idOf: (family: string, name: string, field: string) => string,
  ): Record<string, unknown>;
}

/** Names of the possible columns; members of objects and free JSON use dots. */
export function columnNames(fields: Readonly<Record<string, Field>>): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    if (!isImportable(field)) return [];
    return field.kind === "object" ? columnNames(field.fields).map((member) => `${name}.${member}`) : [name];
  });
}

function isImportable(field: Field): boolean {
  return !field.readOnly && field.kind !== "internal" && field.kind !== "computed" && field.kind !== "file";
}

/**
 * Parses the header of a table; `short` has the short forms of JSON columns. Throws CallerError with an error for each unknown
 * or duplicate column and each missing required column.
 */
export function parseHeader(
  head: readonly string[],
  fields: Readonly<Record<string, Field>>,
  short: CellShorthand = {},
): RowParser {
  const paths = head.map((cell) => pathOf(cell.trim()));
  const faults = head.flatMap((cell, at) => headerErrors(cell.trim(), at, paths, fields));
  faults.push(...missingColumns(paths, fields));
  if (faults.length > 0) throw validationError(faults);
  const decoder = compileDecoder(fields);
  return {
    parse(cells, idOf) {
      const found: FieldError[] = [];
      if (cells.length > head.length) found.push(tooMany(head.length, cells.length));
      const given: Record<string, unknown> = {};
      paths.forEach((path, at) => {
        const text = unescapeCsvFormula((cells[at] ?? "").trim());
        if (text !== "") putCell(given, path, text, fields);
      });
      const written = extractShorthand(given, short);
      const input = { ...decoder.form(given), ...written };
      for (const [name, value] of Object.entries(input)) {
        const find = (family: string, text: string): string => idOf(family, text, name);
        try {
          const items = short[name];
          input[name] =
            items && name in written
              ? (value as string[]).flatMap((item) => items(item, find))
              : resolveReferences(fields[name] as Field, value, find);
        } catch (error) {
          found.push(...lineErrors(error));
        }
      }
      if (found.length > 0) throw validationError(found);
      return input;
    },
  };
}

/** Extracts cells in short form and expands them to items. */
function extractShorthand(given: Record<string, unknown>, short: CellShorthand): Record<string, unknown> {
  const extracted: Record<string, unknown> = {};
  for (const name of Object.keys(short)) {
    const text = given[name];
    if (typeof text !== "string" || text.startsWith("[")) continue;
    extracted[name] = itemsOf(text);
    delete given[name];
  }
  return extracted;
}

function lineErrors(error: unknown): readonly FieldError[] {
  const { faults } = error as { faults?: readonly FieldError[] };
  if (!faults) throw error;
  return faults;
}

function tooMany(expected: number, given: number): FieldError {
  return {
    field: null,
    type: "invalid-value",
    message: sentence("upload.the-line-has-given-cells-the-header-has-expected", { count: given, expected }),
  };
}

function pathOf(column: string): string[] {
  const [first = "", ...rest] = column.split(".");
  return rest.length === 0 ? [camelCase(first)] : [camelCase(first), rest.join(".")];
}

function headerErrors(
  column: string,
  at: number,
  paths: readonly string[][],
  fields: Readonly<Record<string, Field>>,
): FieldError[] {
  const fault = (message: string): FieldError[] => [{ field: column || null, type: "invalid-value", message }];
  if (column === "") return fault(sentence("upload.column-number-has-no-name", { number: at + 1 }));
  const path = paths[at] as string[];
  if (paths.findIndex((other) => other.join(".") === path.join(".")) < at)
    return fault(sentence("upload.duplicate-column-column", { column }));
  const field = Object.hasOwn(fields, path[0] as string) ? fields[path[0] as string] : undefined;
  const isKnown = field && isImportable(field) && (path.length === 1 || isMember(field, path[1] as string));
  return isKnown
    ? []
    : fault(
        sentence("upload.unknown-column-column-columns-are-columns", {
          column,
          columns: columnNames(fields).join(", "),
        }),
      );
}

/** Reported once for the header instead of for each line. */
function missingColumns(paths: readonly string[][], fields: Readonly<Record<string, Field>>): FieldError[] {
  const isMissing = ([name, field]: [string, Field]): boolean =>
    isImportable(field) && field.required === true && !paths.some(([first]) => first === name);
  return Object.entries(fields)
    .filter(isMissing)
    .map(([field]) => ({
      field,
      type: "required",
      message: sentence("upload.column-column-is-required", { column: field }),
    }));
}

function isMember(field: Field, name: string): boolean {
  if (field.kind === "json") return name !== "__proto__";
  const inner = name.split(".");
  if (field.kind !== "object" || !Object.hasOwn(field.fields, inner[0] as string)) return false;
  const member = field.fields[inner[0] as string] as Field;
  return inner.length === 1 ? isImportable(member) : isMember(member, inner.slice(1).join("."));
}

/** Stores the text of a cell at the path of the column name, as a form would. */
function putCell(
  into: Record<string, unknown>,
  [name = "", member]: readonly string[],
  text: string,
  fields: Readonly<Record<string, Field>>,
): void {
  const field = fields[name] as Field;
  if (member === undefined) {
    into[name] = field.kind === "list" || field.kind === "many" ? itemsOf(text) : text;
    return;
  }
  const inside = (into[name] ?? {}) as Record<string, unknown>;
  into[name] = inside;
  if (field.kind === "object") {
    const [first = "", ...rest] = member.split(".");
    putCell(inside, rest.length === 0 ? [first] : [first, rest.join(".")], text, field.fields);
  } else inside[member] = text;
}

/** Items are separated by semicolons; items that contain one must be in a JSON list. */
function itemsOf(text: string): unknown {
  if (text.startsWith("[")) {
    try {
      return (JSON.parse(text) as unknown[]).map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
    } catch {
      // A name may begin with a bracket.
    }
  }
  return text
    .split(";")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function resolveReferences(field: Field, value: unknown, idOf: (family: string, name: string) => string): unknown {
  if (field.kind === "ref" && typeof value === "string") return idOf(field.to, value);
  if (field.kind === "many" && Array.isArray(value)) return value.map((item) => idOf(field.to, item));
  return value;
}
