import { z } from "zod";
import type { FieldError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Field, ListField, ObjectField, ScalarField, TextField } from "./field.ts";
import { isDate, parseTimestamp } from "./timestamp.ts";
import { UploadedFile } from "./uploaded-file.ts";
import { suggestValues } from "./value-suggestions.ts";

/** Validates input against compiled fields. */
export interface Validator {
  /**
   * Returns the internal values of the given fields (timestamps as epoch ms, ids in lower case, null = cleared) and
   * all errors. On `create`, defaults are filled in and missing required fields are errors. Read-only, internal and
   * computed fields and unknown members are ignored; on `update`, create-only ones too.
   */
  validate(
    input: Readonly<Record<string, unknown>>,
    op: "create" | "update",
  ): { values: Record<string, unknown>; faults: FieldError[] };
}

const EMAIL = /^[^\s@<>"(),:;[\]\\]+@[^\s@<>"(),:;[\]\\]+$/;
const COLOR = /^#[0-9a-fA-F]{6}$/;

/** Compiles the validator of fields. */
export function compileValidator(fields: Readonly<Record<string, Field>>): Validator {
  const compiled = Object.entries(fields)
    .filter(([, field]) => isWritable(field))
    .map(([name, field]) => ({ name, field, type: fieldType(field) }));
  return {
    validate(input, op) {
      const values: Record<string, unknown> = {};
      const faults: FieldError[] = [];
      for (const { name, field, type } of compiled) {
        if (op === "update" && field.createOnly) continue;
        const given = Object.hasOwn(input, name) ? input[name] : undefined;
        if (given === undefined || given === null || (given === "" && field.required)) {
          validateAbsent(name, field, given, op, values, faults);
          continue;
        }
        const result = type.safeParse(given);
        if (result.success) values[name] = result.data;
        else faults.push(invalid(name, result.error, suggestionFor(field, given)));
      }
      return { values, faults };
    },
  };
}

function isWritable(field: Field): boolean {
  return field.kind !== "internal" && field.kind !== "computed" && !field.readOnly;
}

function validateAbsent(
  name: string,
  field: Field,
  given: unknown,
  op: "create" | "update",
  values: Record<string, unknown>,
  faults: FieldError[],
): void {
  if (field.required && (op === "create" || given !== undefined)) {
    faults.push({ field: name, type: "required", message: `Field ${name} is required.` });
    return;
  }
  if (op === "create" || given !== undefined) values[name] = defaultOf(field);
}

/** Default value of a field. */
export function defaultOf(field: Field): unknown {
  if (field.kind === "many") return [];
  if (!("default" in field) || field.default === undefined) return null;
  // A copy, because rows may be modified; primitives need none.
  return typeof field.default === "object" ? structuredClone(field.default) : field.default;
}

/** For a choice among so many values that an error does not list them. */
function suggestionFor(field: Field, given: unknown): string {
  if (field.kind !== "option" || field.values.length <= MAX_LISTED_VALUES) return "";
  const suggested = suggestValues(given, field.values, field.otherNames);
  return suggested.length === 0 ? "" : `Did you mean ${suggested.join(" or ")}?`;
}

function invalid(name: string, error: z.ZodError, suggestion: string): FieldError {
  const issue = error.issues[0];
  const inner = (issue?.path ?? [])
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("");
  const expected = (issue ? expectedMessage(issue) : "") || suggestion;
  const message = `Field ${name}${inner} is not valid.${expected && ` ${expected}`}`;
  return { field: `${name}${inner}`, type: "invalid-value", message };
}

/** Longer lists, such as the time zones, would hide the error. */
const MAX_LISTED_VALUES = 100;

const TYPE_MESSAGES: Readonly<Record<string, string>> = {
  string: sentence("field.must-be-a-string"),
  number: sentence("field.must-be-a-number"),
  int: sentence("field.must-be-an-integer"),
  array: sentence("field.must-be-a-list"),
  object: sentence("field.must-be-an-object"),
};

/** Describes the expected value; empty if unknown. */
function expectedMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === "custom") return issue.message === "Invalid input" ? "" : issue.message;
  if (issue.code === "invalid_value")
    return issue.values.length > MAX_LISTED_VALUES
      ? ""
      : sentence("field.must-be-one-of-values", { values: issue.values.join(", ") });
  if (issue.code === "invalid_type") return TYPE_MESSAGES[issue.expected] ?? "";
  const isList = "origin" in issue && issue.origin === "array";
  if (issue.code === "too_small")
    return sentence(isList ? "field.min-elements" : "field.min", { min: String(issue.minimum) });
  if (issue.code === "too_big") {
    const limit = String(issue.maximum);
    return isList
      ? sentence("field.must-have-at-most-limit-elements", { limit })
      : sentence("field.max", { max: limit });
  }
  return "";
}

function fieldType(field: Field): z.ZodType {
  switch (field.kind) {
    case "ref":
      return uuidType();
    case "many":
      return z
        .array(uuidType())
        .max(field.maxItems)
        .transform((ids) => [...new Set(ids)]);
    case "list":
      return listType(field);
    case "object":
      return objectType(field);
    case "json":
      return jsonType(field.maxBytes);
    case "file":
      return z
        .custom<UploadedFile>(
          (value) => value instanceof UploadedFile,
          sentence("field.must-be-sent-as-a-file-in-multipart-form-data"),
        )
        .transform((upload) => upload.file);
    case "secret":
      return textType({ kind: "text", doc: field.doc, max: field.max });
    case "internal":
    case "computed":
      return z.never();
    default:
      return scalarType(field);
  }
}

function scalarType(field: ScalarField): z.ZodType {
  switch (field.kind) {
    case "text":
      return textType(field);
    case "integer":
      return z.number().int().min(field.min).max(field.max);
    case "number":
      return z.number().min(field.min).max(field.max);
    case "boolean":
      return z.union([z.boolean(), z.string().transform((word) => word === "true")]);
    case "timestamp":
      return z
        .string()
        .refine(isInstant, sentence("field.must-be-an-iso-8601-date-and-time-with-a-zone-such-as-2026"))
        .transform((iso) => parseTimestamp(iso) as number);
    case "date":
      return z.string().refine(isDate, sentence("field.must-be-a-date-as-yyyy-mm-dd"));
    case "option":
      return z.enum([...field.values] as [string, ...string[]]);
    case "uuid":
      return uuidType();
  }
}

function textType(field: TextField): z.ZodType<string> {
  const min = field.min ?? 0;
  return z
    .string()
    .refine((value) => !/[\0\p{Cs}]/u.test(value))
    .refine((value) => value.length <= field.max || (value.length <= 2 * field.max && [...value].length <= field.max), {
      error: sentence("field.must-have-at-most-limit-characters", { limit: field.max }),
    })
    .refine((value) => [...value].length >= min, {
      error: sentence("field.must-have-at-least-min-characters", { min }),
    })
    .refine((value) => !field.without || !value.includes(field.without), {
      error: sentence("field.must-not-contain-text", { text: field.without ?? "" }),
    })
    .refine((value) => fitsFormat(field.format, value), { error: field.format && FORMAT_MESSAGES[field.format] });
}

const FORMAT_MESSAGES = {
  email: sentence("field.must-be-an-email-address-such-as-name-example-org"),
  color: sentence("field.must-be-a-colour-such-as-0a7f00"),
  url: sentence("field.must-be-a-url-that-begins-with-http-or-https"),
} as const;

function fitsFormat(format: TextField["format"], value: string): boolean {
  if (format === "email") return EMAIL.test(value);
  if (format === "color") return COLOR.test(value);
  if (format === "url") return isWebAddress(value);
  return true;
}

function isWebAddress(value: string): boolean {
  if (!/^https?:\/\/[^\s@]+$/i.test(value)) return false;
  return URL.canParse(value);
}

/** True for an ISO 8601 instant of the years 1970 to 9999 with an existing date. */
function isInstant(value: string): boolean {
  return (parseTimestamp(value) ?? -1) >= 0;
}

function uuidType(): z.ZodType<string> {
  return z
    .string()
    .refine(isUuid, sentence("field.must-be-a-uuid"))
    .transform((id) => id.toLowerCase());
}

function listType(field: ListField): z.ZodType {
  return z
    .array(scalarType(field.item))
    .min(field.minItems ?? 0)
    .max(field.maxItems);
}

function objectType(field: ObjectField): z.ZodType {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, member] of Object.entries(field.fields)) {
    const type = fieldType(member);
    shape[name] = member.required ? type : type.nullable().optional();
  }
  return z.object(shape);
}

function jsonType(maxBytes: number): z.ZodType {
  return z.unknown().refine(
    (value) => {
      const text = JSON.stringify(value);
      return text !== undefined && Buffer.byteLength(text) <= maxBytes;
    },
    sentence("field.must-have-at-most-limit-bytes-of-json", { limit: maxBytes }),
  );
}
