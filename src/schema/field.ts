/** Options of every field. `doc` is published in the OpenAPI document. */
export interface FieldOptions {
  /** Required on creation and cannot be cleared. */
  required?: boolean;
  /** Set by Carillon; ignored in requests. */
  readOnly?: boolean;
  /** Accepted on creation only; ignored in updates. */
  createOnly?: boolean;
  /** False to disable list filters. Scalars have filters by default. */
  filter?: boolean;
  /** Why a value other than the default is stored and has no effect; the response to a write warns of it. */
  unsupported?: string;
  /** Unit of the value, such as "s" or "m". */
  unit?: string;
}

interface Base extends FieldOptions {
  doc: string;
}

/** A string of `min`..`max` characters (Unicode code points); unpaired surrogates and NUL are refused. */
export interface TextField extends Base {
  kind: "text";
  min?: number;
  max: number;
  /** Unique in the whole table, case-insensitive. */
  unique?: boolean;
  format?: "email" | "color" | "url";
  /** Forbidden substring. */
  without?: string;
  /** False if `q` does not search its words; `attribute:value` then compares the whole value. */
  search?: boolean;
  default?: string;
}
/** An integer from `min` to `max`, inclusive. */
export interface IntegerField extends Base {
  kind: "integer";
  min: number;
  max: number;
  default?: number;
}
/** A finite number from `min` to `max`. */
export interface NumberField extends Base {
  kind: "number";
  min: number;
  max: number;
  default?: number;
}
/** A boolean; the API also accepts "true" and any other string as false. */
export interface BooleanField extends Base {
  kind: "boolean";
  default?: boolean;
}
/** A timestamp: epoch ms internally, ISO 8601 UTC with ms and Z in the API. */
export interface TimestampField extends Base {
  kind: "timestamp";
}
/** An existing calendar date `YYYY-MM-DD`. */
export interface DateField extends Base {
  kind: "date";
}
/** One of a fixed set of strings. */
export interface OptionField<V extends string = string> extends Base {
  kind: "option";
  values: readonly V[];
  default?: V;
  /** Values that people may mean by another name, which is in small letters; errors suggest them. */
  otherNames?: Readonly<Record<string, readonly V[]>>;
}
/** Any RFC 9562 UUID without referential integrity. */
export interface UuidField extends Base {
  kind: "uuid";
}
/** The id of a row of another resource (by declaration name). */
export interface RefField extends Base {
  kind: "ref";
  to: string;
  /** Property under which the related row is embedded; absent = never embedded. */
  embed?: string;
  /** Query flag that omits the embedded row when true, in addition to `include<Embed>=false`. */
  embedUnless?: string;
  /** Name of the list of referring rows at the target: `…/{id}/<dependents>-dependents`. */
  dependents?: string;
  /** Effect of deleting the target: `clear` the reference, delete this row (`cascade`), or `refuse`. */
  onDelete: "clear" | "cascade" | "refuse";
  /** The target is part of the row: it is visible wherever the row is visible. */
  part?: boolean;
}
/** Ids of rows of another resource, ordered, without duplicates. */
export interface ManyField extends Base {
  kind: "many";
  to: string;
  embed?: string;
  /** As in RefField. */
  embedUnless?: string;
  /** As in RefField. */
  dependents?: string;
  maxItems: number;
  /** `refuse`: a referenced target cannot be deleted; otherwise it is removed from the list. */
  onDelete?: "refuse";
  /**
   * Integer field of the row that counts the targets that were removed from the list since it was last set, where an empty list
   * means more than a full one. @source docs/decisions/0547-lost-references.md
   */
  lostIn?: string;
}
/** Ordered values of one type. */
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
  fields: Readonly<Record<string, ScalarField | ListField | ObjectField | JsonField>>;
}
/** Any JSON value up to `maxBytes` of text; further validation by the resource hooks. */
export interface JsonField extends Base {
  kind: "json";
  maxBytes: number;
  default?: unknown;
  /** Fields of the elements if it is a list of objects; forms convert their values, and JSON text is parsed. */
  items?: Readonly<Record<string, Field>>;
  /** True if it is an object that is also accepted as a string with JSON text. */
  fromText?: boolean;
  /** Elements that a form offers to begin with, if it is a list. */
  presets?: readonly { title: string; value: object }[];
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
/** A write-only string, masked in the audit log. */
export interface SecretField extends Base {
  kind: "secret";
  max: number;
  /**
   * How it is stored, and whether it replicates. `encrypted` (default): it can be sent to others, and stays on the side
   * where it was entered. `hash`: it is only compared with what others enter; its hash replicates.
   * @source docs/decisions/0466-secrets-and-replication.md
   */
  stored?: "encrypted" | "hash";
  /** `pin`: 4 to 12 digits. */
  format?: "pin";
  /**
   * Fields that decide who receives it: with a change of one it must be given again. `feeds.url` is the member `url` of
   * the elements of the list `feeds`.
   */
  boundTo?: readonly string[];
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
  /** Query flag that omits the field when false. */
  unless?: string;
  /** True if only some rows have it. */
  sometimes?: boolean;
  /** Name of the resource of the array elements. */
  rowsOf?: string;
  /** Member with the text whose code and parameters this is; `value.reason` is a member of the object `value`. */
  sentenceOf?: string;
}

/** Fields with a primitive value. */
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
/** An integer field; the bounds default to 0 and the maximum of a signed 32-bit integer. */
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
/** A timestamp field. */
export function timestamp<const O extends Rest<TimestampField>>(doc: string, options: O = {} as O) {
  return { kind: "timestamp" as const, doc, ...options };
}
/** A date field. */
export function date<const O extends Rest<DateField>>(doc: string, options: O = {} as O) {
  return { kind: "date" as const, doc, ...options };
}
/** A choice of `values`. */
export function option<const V extends string, const O extends Omit<Rest<OptionField<V>>, "values">>(
  doc: string,
  values: readonly V[],
  options: O = {} as O,
) {
  return { kind: "option" as const, doc, values, ...options };
}
/** A UUID without a reference. */
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
/** A list of primitive values; `maxItems` defaults to 1000. */
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
/** Free-form JSON; `maxBytes` defaults to 64 KiB. */
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
/** A PIN of 4 to 12 digits, stored as a hash. */
export function pin(doc: string) {
  return { kind: "secret" as const, doc, max: 12, stored: "hash" as const, format: "pin" as const };
}
/** An internal column. */
export function internal<const T extends InternalField["type"], const O extends Omit<Rest<InternalField>, "type">>(
  doc: string,
  type: T,
  options: O = {} as O,
) {
  return { kind: "internal" as const, doc, type, ...options };
}
/** A computed value. */
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

/** The internal value of a set field. */
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
