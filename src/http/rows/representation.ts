import type { Field, ObjectField, StoredFile } from "../../schema/field.ts";
import type { AnyResource, RowBase } from "../../schema/resource.ts";

/** A row of any declaration. */
export type UntypedRow = RowBase & Readonly<Record<string, unknown>>;

/** Additional parts of a row's representation. */
export interface RepresentationExtras {
  /**
   * Members in API form that replace or extend the stored fields; undefined ones are omitted. If given, computed
   * fields without a value are omitted too.
   */
  extras?: Readonly<Record<string, unknown>> | undefined;
  /** Ready JSON members, each with a leading comma: `,"user":{…}`. */
  more?: string;
  /** URL of a file field, added to the file if given. */
  fileUrl?: ((field: string) => string) | undefined;
}

/** Writes rows of one declaration as JSON text. */
export type RowWriter = (row: UntypedRow, parts: RepresentationExtras) => string;

/** Writes a field's value, never null, as JSON text. */
type Write = (value: unknown) => string;

interface Member {
  name: string;
  /** `,"name":` */
  key: string;
  write: Write;
}

const LIST_END = '"}';

/**
 * Compiles the representation of a resource, once at start. Secrets and internal fields are never included;
 * timestamps are ISO strings; a file is its size (0 without one) and the list `<field>Files`; a computed field is
 * null unless a hook fills it. `isoText` formats epoch ms.
 * @source docs/decisions/0027-performance-goals.md; docs/decisions/0042-api-contract.md
 */
export function compileRowWriter(resource: AnyResource, isoText: (epochMs: number) => string): RowWriter {
  const members: Member[] = [];
  const files: { name: string; key: string; listKey: string }[] = [];
  const computed: { name: string; nothing: string }[] = [];
  for (const [name, field] of Object.entries(resource.fields)) {
    const key = `,${JSON.stringify(name)}:`;
    if (field.kind === "file") files.push({ name, key, listKey: `,${JSON.stringify(`${name}Files`)}:` });
    else if (field.kind === "computed") computed.push({ name, nothing: `${key}null` });
    else if (field.kind !== "secret" && field.kind !== "internal") {
      members.push({ name, key, write: writerOf(field, isoText) });
    }
  }
  const inDomain = resource.scope === "domain";

  return (row, { extras, more, fileUrl }) => {
    let text = `{"id":"${row.id}"`;
    for (const { name, key, write } of members) {
      if (extras && Object.hasOwn(extras, name)) continue;
      const value = row[name];
      text += value === null || value === undefined ? `${key}null` : key + write(value);
    }
    for (const { name, key, listKey } of files) {
      const file = row[name] as StoredFile | null;
      text += file ? `${key}${file.size}${listKey}[${fileText(file, fileUrl?.(name))}]` : `${key}0${listKey}[]`;
    }
    if (extras) text += extraText(extras);
    else for (const { nothing } of computed) text += nothing;
    if (more) text += more;
    text += `,"createdAt":"${isoText(row.createdAt)}","updatedAt":"${isoText(row.updatedAt)}`;
    return inDomain ? `${text}","domainId":${row.domainId === null ? "null" : `"${row.domainId}"`}}` : text + LIST_END;
  };
}

/** Their names are identifiers, which hold nothing that JSON escapes. */
function extraText(extras: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const [name, value] of Object.entries(extras)) {
    const isPlain = value === null || typeof value === "boolean";
    const written = isPlain ? String(value) : JSON.stringify(value);
    if (written !== undefined) text += `,"${name}":${written}`;
  }
  return text;
}

/** `url` is shown only with includeBinaryUrls. */
function fileText({ fileName, size, contentType, metadata }: StoredFile, url: string | undefined): string {
  return JSON.stringify({ fileName, size, contentType, metadata, url });
}

function writerOf(field: Field, isoText: (epochMs: number) => string): Write {
  switch (field.kind) {
    case "timestamp":
      return (value) => `"${isoText(value as number)}"`;
    case "integer":
    case "number":
    case "boolean":
      return String;
    // Ids and days hold nothing that JSON escapes.
    case "ref":
    case "uuid":
    case "date":
      return (value) => `"${value as string}"`;
    case "many":
      return (value) => ((value as string[]).length === 0 ? "[]" : `["${(value as string[]).join('","')}"]`);
    case "list":
      return field.item.kind === "timestamp"
        ? (value) => `[${(value as number[]).map((at) => `"${isoText(at)}"`).join()}]`
        : JSON.stringify;
    case "object":
      return objectWriter(field, isoText);
    default:
      return JSON.stringify;
  }
}

/** All declared members, null where nothing is stored. */
function objectWriter({ fields }: ObjectField, isoText: (epochMs: number) => string): Write {
  const members = Object.entries(fields).map(([name, field], at) => ({
    name,
    key: `${at === 0 ? "" : ","}${JSON.stringify(name)}:`,
    write: writerOf(field, isoText),
  }));
  return (value) => {
    let text = "{";
    for (const { name, key, write } of members) {
      const member = (value as Record<string, unknown>)[name];
      text += key + (member === null || member === undefined ? "null" : write(member));
    }
    return `${text}}`;
  };
}
