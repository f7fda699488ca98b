import { type FieldError, invalidValue } from "../../lib/errors.ts";
import type { Field } from "../../schema/field.ts";
import { compileValidator } from "../../schema/validator.ts";

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
  validate(value: Readonly<Record<string, unknown>>): FieldError[];
  /** All settings: the good ones of `value`, the defaults for the others. */
  withDefaults(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** Finds what may be said of an extension, by its id; null where anything may. */
export type ProfileSchemaLookup = (extensionId: string) => ProfileSchema | null;

/** Compiles the settings that an extension has in profiles. */
export function compileProfileSchema(fields: Readonly<Record<string, Field>>): ProfileSchema {
  const checker = compileValidator(fields);
  const validate = (value: Readonly<Record<string, unknown>>): FieldError[] => {
    const strange = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
    const faults = strange.map((field): FieldError => {
      return { field, type: "invalid-value", message: `Field ${field} is not valid. There is no such setting.` };
    });
    return [...faults, ...checker.validate(value, "create").faults];
  };
  return {
    fields,
    validate,
    withDefaults(value) {
      // What was good by an earlier version of the extension may not be by this one.
      const bad = new Set(validate(value).map(({ field }) => field?.split(/[.[]/)[0]));
      const good = Object.entries(value).filter(([name]) => !bad.has(name));
      return checker.validate(Object.fromEntries(good), "create").values;
    },
  };
}

const OVERRIDES = "extensionSettingsOverrides";

/**
 * The settings that a message is sent with: those of its profile (null for none), in which the sender's values per
 * extension id replace single ones. Throws CallerError for overrides that are no objects.
 */
export function mergeExtensionSettings(
  profile: readonly ProfileSetting[] | null,
  overrides: unknown,
): ProfileSetting[] {
  const settings = new Map((profile ?? []).map((setting) => [setting.id.toLowerCase(), setting]));
  if (overrides === null || overrides === undefined) return [...settings.values()];
  if (!isJsonObject(overrides)) throw invalidValue(OVERRIDES, "An object by extension id is expected.");
  for (const [given, value] of Object.entries(overrides)) {
    if (!isJsonObject(value)) throw invalidValue(OVERRIDES, "The settings of an extension are an object.");
    const id = given.toLowerCase();
    const before = settings.get(id);
    settings.set(id, { id, disabled: before?.disabled ?? false, value: { ...before?.value, ...value } });
  }
  return [...settings.values()];
}

/** True for a JSON object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
