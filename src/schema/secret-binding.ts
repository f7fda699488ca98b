import type { FieldError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Field } from "./field.ts";

type Values = Readonly<Record<string, unknown>>;

/** A change of a row or configuration. */
export interface SecretChange {
  before: Values;
  after: Values;
  /** Whether the caller gives this secret, or clears it. */
  isGiven(secret: string): boolean;
}

/**
 * The secrets that would go to another place than they were given for: one is kept while a field that decides who
 * receives it changes. @source docs/decisions/0481-secrets-are-bound-to-their-target.md
 */
export function secretsOfOtherTargets(
  fields: Readonly<Record<string, Field>>,
  { before, after, isGiven }: SecretChange,
): FieldError[] {
  return Object.entries(fields).flatMap(([field, spec]) => {
    if (spec.kind !== "secret" || typeof before[field] !== "string" || isGiven(field)) return [];
    const changed = (spec.boundTo ?? []).filter((path) => leadsElsewhere(path, before, after));
    if (changed.length === 0) return [];
    const names = changed.map((path) => path.split(".")[0]).join(", ");
    return [
      {
        field,
        type: "required" as const,
        message: sentence("error.field-field-must-be-given-again-with-a-new-names", { field, names }),
      },
    ];
  });
}

/** A removed target is no other one; that secret is asked for when there is a target again. */
function leadsElsewhere(path: string, before: Values, after: Values): boolean {
  const known = new Set(targetsOf(path, before));
  return targetsOf(path, after).some((target) => !known.has(target));
}

/** Comparable texts of what a path names, also within objects; an element of a list counts with its name. */
function targetsOf(path: string, values: Values): string[] {
  const [name = "", ...members] = path.split(".");
  const value = values[name];
  if (value === null || value === undefined || value === "") return [];
  const [member] = members;
  if (member === undefined) return [JSON.stringify(value)];
  if (!Array.isArray(value)) return typeof value === "object" ? targetsOf(members.join("."), value as Values) : [];
  return value.map((element: Values | null) => JSON.stringify([element?.name ?? null, element?.[member] ?? null]));
}
