/** Options of every field. `doc` is published in the OpenAPI document. */
export interface FieldOptions {
  /** Must be present on creation and can't be cleared later. */
  required?: boolean;
  /** Kept by Carillon; a value in a request is ignored. */
  readOnly?: boolean;
  /** Taken on creation only; later requests with another value are ignored. */
  createOnly?: boolean;
  /** False when lists can't be filtered by it. Scalars can by default. */
  filter?: boolean;
  /** Unit of the value, such as "s" or "m". */
  unit?: string;
}

interface Base extends FieldOptions {
  doc: string;
}

/** A text of `min`..`max` characters (Unicode code points); unpaired surrogates and NUL are refused. */
export interface TextField extends Base {
  kind: "text";
  min?: number;
  max: number;
  /** Unique over the whole table, compared without case. */
  unique?: boolean;
  format?: "email" | "color" | "url";
  /** Forbidden substring. */
  without?: string;
  /** False if `q` does not search its words; `attribute:value` then compares the whole value. */
  search?: boolean;
  default?: string;
}
/** A whole number within `min`..`max`, both included. */
export interface IntegerField extends Base {
  kind: "integer";
  min: number;
  max: number;
  default?: number;
}
/** A finite number within `min`..`max`. */
export interface NumberField extends Base {
  kind: "number";
  min: number;
  max: number;
  default?: number;
}
/** True or false; at the edge the strings "true" and any other are taken too. */
export interface BooleanField extends Base {
  kind: "boolean";
  default?: boolean;
}
/** A moment: epoch ms inside, ISO 8601 UTC with ms and Z at the edge. */
export interface TimestampField extends Base {
  kind: "timestamp";
}
/** A calendar day `YYYY-MM-DD` that exists. */
export interface DateField extends Base {
  kind: "date";
}
/** One of a fixed set of strings. */
export interface OptionField<V extends string = string> extends Base {
  kind: "option";
  values: readonly V[];
  default?: V;
}
/** Any RFC 9562 UUID that refers to nothing the database can check. */
export interface UuidField extends Base {
  kind: "uuid";
}
/** The id of one row of another resource (by declaration name). */
export interface RefField extends Base {
  kind: "ref";
  to: string;
  /** Property under which the related row is embedded; absent = never embedded. */
  embed?: string;
  /** Query flag that omits the embedded row when true, in addition to `include<Embed>=false`. */
  embedUnless?: string;
  /** Name under which the target lists the rows that refer to it by this field: `…/{id}/<dependents>-dependents`. */
  dependents?: string;
  /** Effect of deleting the target: `clear` the reference, delete this row (`cascade`), or `refuse`. */
  onDelete: "clear" | "cascade" | "refuse";
  /** The target is part of the row: it is visible wherever the row is visible. */
  part?: boolean;
}
/** Ids of rows of another resource, in order, without repeats. */
export interface ManyField extends Base {
  kind: "many";
  to: string;
  embed?: string;
  /** As of a single reference. */
  embedUnless?: string;
  /** As of a single reference. */
  dependents?: string;
  maxItems: number;
  /** `refuse`: a target can't be deleted while a row names it; else it is taken out of the list. */
  onDelete?: "refuse";
}
/** Values of one kind, in order. */
export interface ListField extends Base {
  kind: "list";
  item: ScalarField;
  minItems?: number;
  maxItems: number;
  default?: readonly unknown[];
}
/** A nested object, stored as one value; an update changes only the given members. */
export interface ObjectField extends Base {
  kind: "object";
  fields: Readonly<Record<string, ScalarField | ListField | ObjectField>>;
}
/** Any JSON value up to `maxBytes` of text; further validation by the resource hooks. */
export interface JsonField extends Base {
  kind: "json";
  maxBytes: number;
  default?: unknown;
  /** Query flags that include the field; the `present` hook omits it otherwise. */
  when?: string | readonly string[];
  /** Query flag that omits the field when false, by the same hook. */
  unless?: string;
}
/**
 * An uploaded file; represented as its size in bytes (0 = none) beside `<name>Files`; the content is at
 * `…/{id}/<name>`.
 */
export interface FileFieldData extends Base {
  kind: "file";
  maxBytes: number;
  /** Accepted content types. The stored type is detected from the content, not taken from the client. */
  types: readonly string[];
}
/** A text that is written and never read back: encrypted at rest, masked in the audit. */
export interface SecretField extends Base {
  kind: "secret";
  max: number;
}
/** An internal value, never part of the API. */
export interface InternalField extends Base {
  kind: "internal";
  type: "text" | "integer" | "real";
  index?: boolean;
  unique?: boolean;
}
/** A value that is never stored: the `present` hook computes it for a whole page at once. */
export interface ComputedField extends Base, ComputedOptions {
  kind: "computed";
  type: "text" | "integer" | "boolean" | "timestamp" | "array" | "object";
}
/** Shape and visibility of a computed value. */
export interface ComputedOptions {
  /** Members of the object or of each array element; a single field if all values or elements have the same type. */
  of?: ScalarField | Readonly<Record<string, Field>>;
  /** True if it may be null. */
  nullable?: boolean;
  /** Query flags that include the field. */
  when?: string | readonly string[];
  /** Query flag that leaves it out when false. */
  unless?: string;
  /** True where only some rows have it. */
  sometimes?: boolean;
  /** Name of the resource of the array elements. */
  rowsOf?: string;
}

/** Fields that hold one plain value. */
export type ScalarField =
  | TextField
  | IntegerField
  | NumberField
  | BooleanField
  | TimestampField
  | DateField
  | OptionField
  | UuidField;

/** Any field of a declaration. */
export type Field =
  | ScalarField
  | RefField
  | ManyField
  | ListField
  | ObjectField
  | JsonField
  | FileFieldData
  | SecretField
  | InternalField
  | ComputedField;

/** A stored file: its content is in the file store under `sha256` (hex). `metadata` is read from the content. */
export interface StoredFile {
  sha256: string;
  size: number;
  fileName: string;
  contentType: string;
  metadata: Record<string, unknown>;
}

type Rest<F> = Partial<Omit<F, "kind" | "doc">>;

/** Whether `q` searches the field. */
export function isFullTextSearched(field: Field): boolean {
  return field.kind === "text" && field.search !== false;
}

/** A text field; `max` defaults to 255 characters. */
export function text<const O extends Rest<TextField>>(doc: string, options: O = {} as O) {
  return { kind: "text" as const, doc, max: 255, ...options };
}
/** A whole-number field; the bounds default to those of a safe 32-bit signed number from 0. */
export function integer<const O extends Rest<IntegerField>>(doc: string, options: O = {} as O) {
  return { kind: "integer" as const, doc, min: 0, max: 2_147_483_647, ...options };
}
/** A number field. */
export function number<const O extends Rest<NumberField>>(doc: string, options: O = {} as O) {
  return { kind: "number" as const, doc, min: -1e15, max: 1e15, ...options };
}
/** A boolean field. */
export function boolean<const O extends Rest<BooleanField>>(doc: string, options: O = {} as O) {
  return { kind: "boolean" as const, doc, ...options };
}
/** A moment in time. */
export function timestamp<const O extends Rest<TimestampField>>(doc: string, options: O = {} as O) {
  return { kind: "timestamp" as const, doc, ...options };
}
/** A calendar day. */
export function date<const O extends Rest<DateField>>(doc: string, options: O = {} as O) {
  return { kind: "date" as const, doc, ...options };
}
/** A choice out of `values`. */
export function option<const V extends string, const O extends Omit<Rest<OptionField<V>>, "values">>(
  doc: string,
  values: readonly V[],
  options: O = {} as O,
) {
  return { kind: "option" as const, doc, values, ...options };
}
/** A UUID that is not checked against a table. */
export function uuid<const O extends Rest<UuidField>>(doc: string, options: O = {} as O) {
  return { kind: "uuid" as const, doc, ...options };
}
/** A reference to a row of the resource `to`; cleared when the target is deleted, by default. */
export function ref<const O extends Omit<Rest<RefField>, "to">>(doc: string, to: string, options: O = {} as O) {
  return { kind: "ref" as const, doc, to, onDelete: "clear" as RefField["onDelete"], ...options };
}
/** References to rows of the resource named `to`; `maxItems` defaults to 5000. */
export function many<const O extends Omit<Rest<ManyField>, "to">>(doc: string, to: string, options: O = {} as O) {
  return { kind: "many" as const, doc, to, maxItems: 5_000, ...options };
}
/** A list of plain values; `maxItems` defaults to 1000. */
export function list<const I extends ScalarField, const O extends Omit<Rest<ListField>, "item">>(
  doc: string,
  item: I,
  options: O = {} as O,
) {
  return { kind: "list" as const, doc, item, maxItems: 1_000, ...options };
}
/** A nested object. */
export function object<const F extends ObjectField["fields"], const O extends Omit<Rest<ObjectField>, "fields">>(
  doc: string,
  fields: F,
  options: O = {} as O,
) {
  // NoInfer: otherwise O is inferred from the context of the call, and its `fields` would widen F.
  return { kind: "object" as const, doc, fields, ...(options as NoInfer<O>) };
}
/** Free JSON; `maxBytes` defaults to 64 KiB. */
export function json<const O extends Rest<JsonField>>(doc: string, options: O = {} as O) {
  return { kind: "json" as const, doc, maxBytes: 65_536, ...options };
}
/** An uploaded file of one of `types`; `maxBytes` defaults to 20 MiB. */
export function file<const O extends Omit<Rest<FileFieldData>, "types">>(
  doc: string,
  types: readonly string[],
  options: O = {} as O,
) {
  return { kind: "file" as const, doc, types, maxBytes: 20 * 1_048_576, ...options };
}
/** A write-only secret. */
export function secret<const O extends Rest<SecretField>>(doc: string, options: O = {} as O) {
  return { kind: "secret" as const, doc, max: 1_024, ...options };
}
/** A column of Carillon's own. */
export function internal<const T extends InternalField["type"], const O extends Omit<Rest<InternalField>, "type">>(
  doc: string,
  type: T,
  options: O = {} as O,
) {
  return { kind: "internal" as const, doc, type, ...options };
}
/** A value computed on reading. */
export function computed<const T extends ComputedField["type"]>(doc: string, type: T, options: ComputedOptions = {}) {
  return { kind: "computed" as const, doc, type, readOnly: true as const, ...options };
}

type ScalarValue<F> = F extends { kind: "text" | "date" | "uuid" }
  ? string
  : F extends { kind: "integer" | "number" | "timestamp" }
    ? number
    : F extends { kind: "boolean" }
      ? boolean
      : F extends { kind: "option"; values: readonly (infer V)[] }
        ? V
        : never;

/** The value of a field inside Carillon when it is set. */
export type ValueOf<F> = F extends { kind: "ref" }
  ? string
  : F extends { kind: "many" }
    ? string[]
    : F extends { kind: "list"; item: infer I }
      ? ScalarValue<I>[]
      : F extends { kind: "object"; fields: infer M }
        ? { -readonly [K in keyof M]?: ValueOf<M[K]> | null }
        : F extends { kind: "json" }
          ? unknown
          : F extends { kind: "file" }
            ? StoredFile
            : F extends { kind: "secret" }
              ? string
              : F extends { kind: "internal"; type: infer T }
                ? T extends "text"
                  ? string
                  : number
                : F extends { kind: "computed" }
                  ? never
                  : ScalarValue<F>;
