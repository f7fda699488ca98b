import type { SentenceReader } from "../lib/sentences/registry.ts";
import type { ComputedField, Field } from "../schema/field.ts";

type Fields = Readonly<Record<string, Field>>;
type Members = Readonly<Record<string, unknown>>;

/**
 * Fills the sentences that `fields` declare beside texts, such as `reasonSentence` beside `reason`, also within computed
 * objects and arrays.
 */
export function addSentences(fields: Fields, members: object, sentences: SentenceReader): Record<string, unknown> {
  const filled: Record<string, unknown> = { ...members };
  for (const [name, field] of Object.entries(fields)) {
    if (field.kind !== "computed") continue;
    if (field.sentenceOf !== undefined) filled[name] = sentenceAt(members, field.sentenceOf, sentences);
    else if (hasMembers(field)) filled[name] = addWithin(field.of, filled[name], sentences);
  }
  return filled;
}

/** Code and parameters of the text at a path of members, or of each text of a list; null without one. Members of a list are those of its elements. */
export function sentenceAt(members: object, path: string, sentences: SentenceReader): unknown {
  const text = path.split(".").reduce<unknown>(memberOf, members);
  if (typeof text === "string") return sentences.read(text);
  return Array.isArray(text) ? sentences.readAll(text as string[]) : null;
}

function memberOf(at: unknown, name: string): unknown {
  if (Array.isArray(at)) return at.map((each) => String(memberOf(each, name) ?? ""));
  return (at as Members | null | undefined)?.[name];
}

function addWithin(fields: Fields, value: unknown, sentences: SentenceReader): unknown {
  if (Array.isArray(value)) return value.map((each: object) => addSentences(fields, each, sentences));
  return typeof value === "object" && value !== null ? addSentences(fields, value, sentences) : value;
}

function hasMembers(field: ComputedField): field is ComputedField & { of: Fields } {
  return field.of !== undefined && typeof field.of.kind !== "string";
}
