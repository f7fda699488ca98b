import { type Fault, invalidValue } from "../base/errors.ts";
import { compileChecker } from "../schema/check.ts";
import type { Field } from "../schema/field.ts";

/** What a notification profile holds for one extension. */
export interface ProfileSetting {
  /** Id of the extension. */
  id: string;
  /** Nothing is sent through the extension. */
  disabled: boolean;
  value: Readonly<Record<string, unknown>>;
}

/** What a profile may say of one extension. */
export interface ProfileSchema {
  /** The settings by name, for forms. */
  fields: Readonly<Record<string, Field>>;
  /** What is wrong with settings, fields named as in them; unknown names are. */
  faultsOf(value: Readonly<Record<string, unknown>>): Fault[];
  /** All settings: the good ones of `value`, the defaults for the others. */
  complete(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** Finds what may be said of an extension, by its id; null where anything may. */
export type SchemaOf = (extensionId: string) => ProfileSchema | null;

/** Compiles the settings that an extension has in profiles. */
export function compileProfileSchema(fields: Readonly<Record<string, Field>>): ProfileSchema {
  const checker = compileChecker(fields);
  const faultsOf = (value: Readonly<Record<string, unknown>>): Fault[] => {
    const strange = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
    const faults = strange.map((field): Fault => {
      return { field, type: "invalid-value", message: `Field ${field} is not valid. There is no such setting.` };
    });
    return [...faults, ...checker.check(value, "create").faults];
  };
  return {
    fields,
    faultsOf,
    complete(value) {
      // What was good by an earlier version of the extension may not be by this one.
      const bad = new Set(faultsOf(value).map(({ field }) => field?.split(/[.[]/)[0]));
      const good = Object.entries(value).filter(([name]) => !bad.has(name));
      return checker.check(Object.fromEntries(good), "create").values;
    },
  };
}

const OVERRIDES = "extensionSettingsOverrides";

/**
 * The settings that a message is sent with: those of its profile (null for none), in which the sender's values per
 * extension id replace single ones. Throws CallerError for overrides that are no objects.
 */
export function extensionSettings(profile: readonly ProfileSetting[] | null, overrides: unknown): ProfileSetting[] {
  const settings = new Map((profile ?? []).map((setting) => [setting.id.toLowerCase(), setting]));
  if (overrides === null || overrides === undefined) return [...settings.values()];
  if (!isObject(overrides)) throw invalidValue(OVERRIDES, "An object by extension id is expected.");
  for (const [given, value] of Object.entries(overrides)) {
    if (!isObject(value)) throw invalidValue(OVERRIDES, "The settings of an extension are an object.");
    const id = given.toLowerCase();
    const before = settings.get(id);
    settings.set(id, { id, disabled: before?.disabled ?? false, value: { ...before?.value, ...value } });
  }
  return [...settings.values()];
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
