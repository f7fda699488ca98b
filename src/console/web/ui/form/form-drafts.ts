import type { JsonSchema } from "../../api/client.ts";
import type { FormValues } from "./form-fields.ts";

/** Where the input of one form is kept until it is saved. */
export interface DraftPlace {
  /** Whose input it is, and of which row. */
  key: string;
  /** Fields that may be kept; never a secret. */
  names: ReadonlySet<string>;
}

/** Input that was not saved. */
export interface FormDraft {
  /** Epoch ms. */
  savedAt: number;
  /** The changed fields before they were changed. */
  before: FormValues;
  values: FormValues;
}

type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const PREFIX = "carillon.draft ";
const MAX_DRAFTS = 20;
const MAX_CHARACTERS = 64 * 1_024;
const MAX_AGE_MS = 7 * 24 * 3_600_000;

/**
 * Fields of a declaration whose input may be kept in the browser: none that the API only takes and never shows, at any
 * depth, and no files.
 * @source docs/decisions/0620-unsaved-input.md
 */
export function draftableNames(schema: JsonSchema | undefined): ReadonlySet<string> {
  const fields = Object.entries(schema?.properties ?? {});
  return new Set(fields.filter(([, field]) => !hasSecret(field)).map(([name]) => name));
}

function hasSecret(schema: JsonSchema): boolean {
  if (schema.writeOnly || schema.format === "binary" || schema.format === "password") return true;
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ];
  // What an object without declared members holds is not known.
  const isOpen = schema.type === "object" && Object.keys(schema.properties ?? {}).length === 0;
  return isOpen || parts.some(hasSecret);
}

/** What was typed and not saved; null if there is nothing, or if it is older than a week. */
export function readDraft(storage: DraftStorage, { key, names }: DraftPlace, nowMs: number): FormDraft | null {
  const draft = parseDraft(storage.getItem(PREFIX + key));
  if (!draft || nowMs - draft.savedAt > MAX_AGE_MS) return null;
  return { ...draft, before: onlyNamed(draft.before, names), values: onlyNamed(draft.values, names) };
}

/** Keeps the changed fields as far as they may be kept; at most 20 drafts, of which the oldest go first. */
export function storeDraft(storage: DraftStorage, { key, names }: DraftPlace, draft: FormDraft): void {
  const values = onlyNamed(draft.values, names);
  const text = JSON.stringify({ ...draft, before: onlyNamed(draft.before, names), values });
  if (Object.keys(values).length === 0 || text.length > MAX_CHARACTERS) {
    removeDraft(storage, key);
    return;
  }
  const others = Array.from({ length: storage.length }, (_, index) => storage.key(index))
    .filter((name): name is string => name?.startsWith(PREFIX) === true && name !== PREFIX + key)
    .map((name) => ({ name, savedAt: parseDraft(storage.getItem(name))?.savedAt ?? 0 }))
    .sort((a, b) => b.savedAt - a.savedAt);
  for (const { name } of others.slice(MAX_DRAFTS - 1)) storage.removeItem(name);
  try {
    storage.setItem(PREFIX + key, text);
  } catch {
    // The browser's storage is full or switched off: the form works without.
  }
}

/** Forgets what was typed. */
export function removeDraft(storage: DraftStorage, key: string): void {
  storage.removeItem(PREFIX + key);
}

function parseDraft(text: string | null): FormDraft | null {
  if (text === null) return null;
  try {
    const { savedAt, before, values } = JSON.parse(text) as Partial<FormDraft>;
    return typeof savedAt === "number" && before && values ? { savedAt, before, values } : null;
  } catch {
    return null;
  }
}

function onlyNamed(values: FormValues, names: ReadonlySet<string>): FormValues {
  const kept = Object.entries(values).filter(([name, value]) => names.has(name) && !(value instanceof File));
  return Object.fromEntries(kept);
}
