import type { JsonSchema } from "../api/client.ts";

/** How a field of a form is filled in. */
export type FormKind =
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
  | "moment"
  | "day";

/** A field of a form. */
export interface FormField {
  name: string;
  kind: FormKind;
  required?: boolean;
  /** What the field is for, when its label doesn't say enough. */
  hint?: string;
  choices?: readonly { value: string; label: string }[];
  max?: number;
  min?: number;
  /** Of a mark: what its label is called, and where in the field's object it stands. */
  mark?: { label: string; path: readonly string[] };
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
    ...(given.description ? { hint: hintOf(given.description) } : {}),
    ...((schema.maximum ?? schema.maxLength) ? { max: schema.maximum ?? schema.maxLength ?? 0 } : {}),
    ...(schema.minimum === undefined ? {} : { min: schema.minimum }),
  };
  return { kind: kindOf(schema), ...bounds, ...choicesOf(schema) };
}

/** The mark of a guess is for readers of the code. */
function hintOf(doc: string): string {
  return doc.replace(/own choice: (.)/g, (_, letter: string) => letter.toUpperCase());
}

function kindOf(schema: JsonSchema): FormKind {
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

/** A field that is drawn from its declaration, save for what is said here. */
export type Drawn = { name: string } & Partial<FormField>;

/** The fields of a form in the order of `wanted`: kind, bounds and duty from the declaration, hints only from here. */
export function drawnFields(schema: JsonSchema | undefined, wanted: readonly Drawn[]): FormField[] {
  const declared = new Map(fieldsOf(schema ?? {}).map(({ hint: _, ...field }) => [field.name, field]));
  return wanted.map((field) => ({ kind: "text", ...declared.get(field.name), ...field }));
}

/** What stands at `path` in an object; undefined where there is nothing. */
export function markIn(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
}

/** The object with `mark` at `path`; whatever else it holds stays. */
export function withMark(value: unknown, [name, ...rest]: readonly string[], mark: unknown): unknown {
  if (name === undefined) return mark;
  const object = isObject(value) ? value : {};
  return { ...object, [name]: withMark(object[name], rest, mark) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields that differ, which alone are sent; an empty text is sent as null. */
export function changedValues(before: FormValues, after: FormValues): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after)) {
    const sent = value === "" ? null : value;
    if (JSON.stringify(sent ?? null) !== JSON.stringify(before[name] ?? null)) changed[name] = sent;
  }
  return changed;
}
