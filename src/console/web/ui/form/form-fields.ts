import type { ReactNode } from "react";
import type { JsonSchema } from "../../api/client.ts";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import type { SentenceOfApi } from "../../i18n/translator.ts";

/** How a field of a form is filled in. */
export type FieldType =
  | "text"
  | "long"
  | "lines"
  | "number"
  | "switch"
  | "choice"
  | "secret"
  | "json"
  | "mark"
  | "many"
  | "row"
  | "rows"
  | "file"
  | "color"
  | "moment"
  | "day"
  | "own";

/** Props of a field with its own component: all values of the form, and a setter. */
export interface CustomFieldProps {
  values: FormValues;
  change(part: FormValues): void;
  error: unknown;
}

/** A field of a form. */
export interface FormField {
  name: string;
  kind: FieldType;
  required?: boolean;
  /** Where it is only sometimes required: by the values of the form and the row as it is, which is empty for a new one. */
  requiredWhen?(values: FormValues, before: FormValues): boolean;
  /** What it is called here; the catalogue's word for the field unless given. */
  label?: string;
  /** Code and parameters of a label in the words of a plugin. */
  labelSentence?: SentenceOfApi;
  /** What the field is for, when its label doesn't say enough. */
  hint?: string;
  /** Code and parameters of a hint in the words of a plugin. */
  hintSentence?: SentenceOfApi;
  choices?: readonly { value: string; label: string }[];
  max?: number;
  min?: number;
  /** Of a row or rows: where they are chosen from. */
  from?: RouteFor<"get">;
  /** Of a row: which of those. */
  query?: RouteQuery;
  /** Of a row: fields of the form that name what it lies in; none can be chosen before they are, and another there takes it back. */
  within?: readonly string[];
  /** Of a list in JSON: elements that can be added to it. */
  presets?: readonly { title: string; value: object }[];
  /** Of a file: the kinds that are taken, as media types. */
  accept?: readonly string[];
  /** Of a mark: what its label is called, and where in the field's object it stands. */
  mark?: { label: string; path: readonly string[] };
  /** Of an own field: how it is drawn; it may stand for several fields of the row. */
  draw?(given: CustomFieldProps): ReactNode;
  /** A part of a long form begins with the field. */
  heading?: string;
  /** Where it is only sometimes to be filled in. */
  shown?(values: FormValues): boolean;
}

/** Values of a form by field. */
export type FormValues = Readonly<Record<string, unknown>>;

const LONG_TEXT = 400;

/** The fields that a JSON Schema describes, in its order; what can't be written is left out. */
export function fieldsOf(schema: JsonSchema): FormField[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {})
    .filter(([, each]) => !each.readOnly)
    .map(([name, each]) => ({ name, ...fieldOf(each), ...(required.has(name) ? { required: true } : {}) }));
}

function fieldOf(given: JsonSchema): Omit<FormField, "name"> {
  // A field that may be null is said as a choice between its kind and null.
  const schema = { ...given, ...given.anyOf?.find(({ type }) => type !== "null") };
  const bounds = {
    ...(given.title ? { label: given.title } : {}),
    ...(given["x-title-sentence"] ? { labelSentence: given["x-title-sentence"] } : {}),
    ...(given.description ? { hint: given.description } : {}),
    ...(given["x-description-sentence"] ? { hintSentence: given["x-description-sentence"] } : {}),
    ...((schema.maximum ?? schema.maxLength) ? { max: schema.maximum ?? schema.maxLength ?? 0 } : {}),
    ...(schema.minimum === undefined ? {} : { min: schema.minimum }),
    ...(schema["x-presets"] ? { presets: schema["x-presets"] } : {}),
  };
  return { kind: kindOf(schema), ...bounds, ...choicesOf(schema) };
}

function kindOf(schema: JsonSchema): FieldType {
  if (schema.writeOnly) return "secret";
  if (schema.enum) return "choice";
  const type = [schema.type].flat().find((each) => each !== "null");
  if (type === "boolean") return "switch";
  if (type === "integer" || type === "number") return "number";
  if (type === "array" && [schema.items?.type].flat().includes("string")) return "lines";
  if (type === "string" && schema.format === "date-time") return "moment";
  if (type === "string" && schema.format === "date") return "day";
  if (type === "string") return (schema.maxLength ?? 0) > LONG_TEXT ? "long" : "text";
  return "json";
}

function choicesOf({ enum: values }: JsonSchema): Pick<FormField, "choices"> | object {
  return values
    ? { choices: values.filter((each) => each !== null).map((each) => ({ value: String(each), label: String(each) })) }
    : {};
}

/** A field built from its declaration, with these overrides. */
export type FieldOverrides = { name: string } & Partial<FormField>;

/** The fields of a form in the order of `wanted`: kind, bounds and duty from the declaration, hints only from here. */
export function formFields(schema: JsonSchema | undefined, wanted: readonly FieldOverrides[]): FormField[] {
  const declared = new Map(
    fieldsOf(schema ?? {}).map(({ hint: _, hintSentence: _sentence, ...field }) => [field.name, field]),
  );
  return wanted.map((field) => ({ kind: "text", ...declared.get(field.name), ...field }));
}

/** The value at `path` of an object; undefined if there is none. */
export function valueAtPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
}

/** The object with `mark` at `path`; whatever else it holds stays. */
export function withValueAtPath(value: unknown, [name, ...rest]: readonly string[], mark: unknown): unknown {
  if (name === undefined) return mark;
  const object = isObject(value) ? value : {};
  return { ...object, [name]: withValueAtPath(object[name], rest, mark) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields that differ, which alone are sent; an empty text is sent as null. */
export function changedValues(before: FormValues, after: FormValues): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after)) {
    if (!isSame(value, before[name]) || value instanceof File) changed[name] = value === "" ? null : value;
  }
  return changed;
}

/**
 * Values after the row changed on the server: fields without user input take the new value, so that saving does not
 * revert changes of others.
 */
export function mergedValues(values: FormValues, before: FormValues, after: FormValues): FormValues {
  const untouched = Object.entries(after).filter(([name]) => isSame(values[name], before[name]));
  return { ...values, ...Object.fromEntries(untouched) };
}

/** Values that others gave to fields that the user has changed, too, by field. */
export type EditConflicts = ReadonlyMap<string, unknown>;

/**
 * Conflicts after the row changed from `before` to `after` on the server while the form holds `values`: fields that both
 * sides changed, to different values. Earlier conflicts stay until their field is the same on both sides.
 */
export function conflictsAfter(
  earlier: EditConflicts,
  values: FormValues,
  before: FormValues,
  after: FormValues,
): EditConflicts {
  const names = Object.keys(values).filter((name) => {
    if (isSame(values[name], after[name])) return false;
    return earlier.has(name) || (!isSame(values[name], before[name]) && !isSame(after[name], before[name]));
  });
  return new Map(names.map((name) => [name, after[name]]));
}

/** An empty field is none. */
function isSame(a: unknown, b: unknown): boolean {
  const [one, other] = [a, b].map((value) => JSON.stringify(value === "" ? null : (value ?? null)));
  return one === other;
}

/** The values with `name` changed, and its dependent fields cleared. */
export function withValue(fields: readonly FormField[], values: FormValues, name: string, value: unknown): FormValues {
  const inside = fields.filter(({ within }) => within?.includes(name)).map((field) => [field.name, null]);
  return { ...values, ...(values[name] === value ? {} : Object.fromEntries(inside)), [name]: value };
}

/** The ids that a row is chosen within, by name; null while one is missing. */
export function parentIds({ within = [] }: FormField, values: FormValues): RouteParams | null {
  const params = within.flatMap((name) => {
    const value = values[name];
    return typeof value === "string" && value !== "" ? [[name, value] as const] : [];
  });
  return params.length === within.length ? Object.fromEntries(params) : null;
}

/** Request body: JSON, or form data if there is a file (lists as repeated `name[]`, null as an empty string). */
export function bodyWith(changed: Readonly<Record<string, unknown>>): object {
  if (!Object.values(changed).some((value) => value instanceof File)) return changed;
  const form = new FormData();
  for (const [name, value] of Object.entries(changed)) {
    if (value instanceof File) form.append(name, value);
    else if (Array.isArray(value)) for (const each of value) form.append(`${name}[]`, String(each));
    else form.append(name, String(value ?? ""));
  }
  return form;
}
