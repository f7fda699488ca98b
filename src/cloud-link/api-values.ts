import type { Field, StoredFile } from "../schema/field.ts";

/** The API form of a field's inner value: times as ISO strings, a file as its name and size. */
export function toApiValue(field: Field, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (field.kind) {
    case "timestamp":
      return new Date(value as number).toISOString();
    case "list":
      return (value as unknown[]).map((each) => toApiValue(field.item, each));
    case "object":
      return Object.fromEntries(
        Object.entries(field.fields).map(([name, member]) => [
          name,
          toApiValue(member, (value as Record<string, unknown>)[name]),
        ]),
      );
    case "file": {
      const { fileName, size } = value as StoredFile;
      return { fileName, size };
    }
    default:
      return value;
  }
}
