import type { Field, FileFieldData, ScalarField } from "../../src/schema/field.ts";
import type { AnyResource } from "../../src/schema/resource.ts";

/** Value of a field that a behaviour restricts further than its declaration says, by `resource.field`; or what makes it of the row's number. */
export type SampleOverrides = Readonly<Record<string, unknown>>;

/** A value of the table that names a row of the family that it needs. */
export interface SampleReference {
  needs: string;
  valueWith(id: string): unknown;
}

/** True for a value that names a row. */
export function isSampleReference(value: unknown): value is SampleReference {
  return typeof value === "object" && value !== null && "needs" in value && "valueWith" in value;
}

/** Id of a row that a reference may name; null when the family is not declared. */
export type IdOf = (resource: string) => string | null;

/** A value that must be refused, and in which way it is wrong. */
export interface WrongValue {
  why: string;
  value: unknown;
}

/** An id that no row has. */
export const UNKNOWN_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/** A picture of one pixel. */
export const SAMPLE_PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Names of the fields that a request may set as text, number, list or object: everything but files. */
export function writableSampleFields(resource: AnyResource): [name: string, field: Field][] {
  return Object.entries(resource.fields).filter(
    ([, field]) => !field.readOnly && !["internal", "computed", "file"].includes(field.kind),
  );
}

/** Names of the fields that take a file. */
export function fileFields(resource: AnyResource): [name: string, field: FileFieldData][] {
  return Object.entries(resource.fields).filter(
    (entry): entry is [string, FileFieldData] => entry[1].kind === "file" && !entry[1].readOnly,
  );
}

/** Fields that hooks require although the declaration does not, as `resource.field`. */
export const REQUIRED_BY_HOOKS: ReadonlySet<string> = new Set(["users.email"]);

/**
 * A valid body in JSON form; two of different `serial` share no value that must be unique. With `requiredOnly` it holds
 * no more than it must. References that can't be filled are left out.
 */
export function sampleInput(
  resource: AnyResource,
  options: { serial: number; idOf: IdOf; table?: SampleOverrides; requiredOnly?: boolean },
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, field] of writableSampleFields(resource)) {
    if (options.requiredOnly && !field.required && !REQUIRED_BY_HOOKS.has(`${resource.name}.${name}`)) continue;
    const fixed = options.table?.[`${resource.name}.${name}`];
    const given = isSampleReference(fixed) ? fixed.valueWith(options.idOf(fixed.needs) ?? UNKNOWN_ID) : fixed;
    const sample = typeof given === "function" ? given(options.serial) : given;
    const value = sample === undefined ? sampleValue(field, options.serial, options.idOf) : sample;
    if (value !== undefined) input[name] = value;
  }
  return input;
}

/** A valid value in JSON form, undefined when there is none. */
function sampleValue(field: Field, serial: number, idOf: IdOf): unknown {
  switch (field.kind) {
    case "ref":
      return idOf(field.to) ?? undefined;
    case "many": {
      const id = idOf(field.to);
      return id === null ? [] : [id];
    }
    case "list":
      return [0, 1].map((at) => sampleScalar(field.item, serial * 10 + at)).slice(0, field.maxItems);
    case "object":
      return Object.fromEntries(
        Object.entries(field.fields)
          .filter(([, member]) => !member.readOnly)
          .map(([name, member], at) => [name, sampleValue(member, serial * 10 + at, idOf)]),
      );
    case "json":
      return Array.isArray(field.default) ? [] : { note: `sample ${serial}` };
    case "secret":
      return `secret-${serial}`;
    case "file":
    case "internal":
    case "computed":
      return undefined;
    default:
      return sampleScalar(field, serial);
  }
}

function sampleScalar(field: ScalarField, serial: number): unknown {
  switch (field.kind) {
    case "text":
      return sampleText(field.format, serial)
        .slice(0, field.max)
        .padEnd(field.min ?? 0, "x");
    case "integer":
      return Math.min(field.max, Math.max(field.min, serial));
    case "number":
      return Math.min(field.max, Math.max(field.min, serial + 0.5));
    case "boolean":
      return !(field.default ?? false);
    case "timestamp":
      return new Date(Date.UTC(2100, 0, 1) + serial * 60_000).toISOString();
    case "date":
      return "2100-02-28";
    case "option":
      return field.values[0];
    case "uuid":
      return UNKNOWN_ID;
  }
}

function sampleText(format: "email" | "color" | "url" | undefined, serial: number): string {
  if (format === "email") return `sample${serial}@example.org`;
  if (format === "color") return "#12AB9f";
  if (format === "url") return `https://example.org/${serial}`;
  return `Sample "${serial}" é`;
}

/** Values just outside what the declaration allows, in JSON form. */
export function wrongValues(field: Field): WrongValue[] {
  switch (field.kind) {
    case "ref":
      return [...NON_TEXT_VALUES, { why: "no id", value: "abc" }, { why: "id of nothing", value: UNKNOWN_ID }];
    case "many":
      return [
        { why: "no list", value: "abc" },
        { why: "no ids", value: ["abc"] },
        { why: "id of nothing", value: [UNKNOWN_ID] },
        { why: "too many", value: Array.from({ length: field.maxItems + 1 }, () => UNKNOWN_ID) },
      ];
    case "list":
      return [
        { why: "no list", value: { a: 1 } },
        { why: "too many", value: Array.from({ length: field.maxItems + 1 }, () => sampleScalar(field.item, 1)) },
        ...wrongScalars(field.item).map(({ why, value }) => ({ why: `item: ${why}`, value: [value] })),
      ];
    case "object":
      return [
        { why: "no object", value: "abc" },
        { why: "a list", value: [] },
        ...Object.entries(field.fields)
          .filter(([, member]) => !member.readOnly)
          .flatMap(([name, member]) =>
            wrongValues(member).map(({ why, value }) => ({ why: `${name}: ${why}`, value: { [name]: value } })),
          ),
      ];
    case "json":
      return [{ why: "too long", value: "x".repeat(field.maxBytes) }];
    case "secret":
      return [...NON_TEXT_VALUES, { why: "too long", value: "x".repeat(field.max + 1) }];
    case "file":
      return [{ why: "no file", value: "abc" }];
    case "internal":
    case "computed":
      return [];
    default:
      return wrongScalars(field);
  }
}

const NON_TEXT_VALUES: readonly WrongValue[] = [
  { why: "a number", value: 12 },
  { why: "an object", value: { a: 1 } },
  { why: "a list", value: ["a"] },
];

function wrongScalars(field: ScalarField): WrongValue[] {
  switch (field.kind) {
    case "text":
      return [
        ...NON_TEXT_VALUES,
        { why: "too long", value: "x".repeat(field.max + 1) },
        { why: "NUL", value: "a\0b" },
        { why: "half a character", value: "a\ud800b" },
        ...(field.min && !field.required ? [{ why: "too short", value: "x".repeat(field.min - 1) }] : []),
        ...(field.format ? [{ why: `no ${field.format}`, value: "a b" }] : []),
      ];
    case "integer":
      return [
        { why: "a fraction", value: field.min + 0.5 },
        { why: "too small", value: field.min - 1 },
        { why: "too large", value: field.max + 1 },
        { why: "words", value: "many" },
      ];
    case "number":
      return [
        { why: "too small", value: field.min - 1 },
        { why: "too large", value: field.max + 1 },
        { why: "words", value: "many" },
      ];
    case "boolean":
      return [
        { why: "a number", value: 1 },
        { why: "an object", value: {} },
      ];
    case "timestamp":
      return [
        { why: "a number", value: 12 },
        { why: "without zone", value: "2026-01-01T00:00:00" },
        { why: "a day that is none", value: "2026-02-30T00:00:00Z" },
      ];
    case "date":
      return [
        { why: "a day that is none", value: "2026-02-30" },
        { why: "a moment", value: "2026-01-01T00:00:00Z" },
      ];
    case "option":
      return [...NON_TEXT_VALUES, { why: "none of the words", value: "no-such-word" }];
    case "uuid":
      return [...NON_TEXT_VALUES, { why: "no id", value: "abc" }];
  }
}

/** A body in JSON form as pairs of a form, keys with brackets: numbers and booleans as texts, free JSON as JSON text. */
export function formPairs(resource: AnyResource, input: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(input).flatMap(([name, value]) =>
    resource.fields[name]?.kind === "json" ? [[name, JSON.stringify(value)] as [string, string]] : pairsOf(name, value),
  );
}

function pairsOf(key: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) {
    return value.length === 0 ? [[key, ""]] : value.flatMap((item) => pairsOf(`${key}[]`, item));
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, member]) => pairsOf(`${key}[${name}]`, member));
  }
  return [[key, value === null || value === undefined ? "" : String(value)]];
}

/** Bytes of a kind that a file field takes. */
export function sampleFile({ types }: FileFieldData): { bytes: Buffer; type: string } {
  if (types.includes("image/png") || types.includes("*/*")) return { bytes: SAMPLE_PNG, type: "image/png" };
  return { bytes: sampleWav(), type: "audio/wav" };
}

/** A tenth of a second of silence, 8 kHz 16-bit mono. */
function sampleWav(): Buffer {
  const samples = 800;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + samples * 2, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(samples * 2, 40);
  return Buffer.concat([head, Buffer.alloc(samples * 2)]);
}
